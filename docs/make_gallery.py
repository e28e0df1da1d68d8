"""Draws the pictures of docs/gallery.md with a trained model, and prints the figures that it quotes.

saccade train recipes/multi30k-en-de.toml
python docs/make_gallery.py runs/multi30k-en-de

The picture of the page needs Playwright and chromium (CONTRIBUTING.md).
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import saccade
from saccade.search.settings import SearchSettings
from saccade.trace.grid import head_grid
from saccade.trace.page import page
from saccade.trace.svg import svg
from saccade.trace.words import words

IMAGES = Path(__file__).parent / "images"
SENTENCE = "An old woman in a blue dress is selling flowers at the market."
ANIMAL = "The animal didn't cross the street because it was too {}."


def draw(translator: saccade.Translator) -> None:
    translation = translator.translate(SENTENCE, attention=True)
    trace = translation.attention
    assert trace is not None
    _write("cross", svg(words(trace), title=translation.text))
    _write("cross-heads", head_grid(trace, title=translation.text))
    _write("encoder-heads", head_grid(trace, kind="encoder", title=SENTENCE))


def photograph(translator: saccade.Translator) -> None:
    """The interactive page as a browser shows it, with the lines of one token."""
    from playwright.sync_api import sync_playwright

    best = translator.translate(SENTENCE, search=SearchSettings(beam=5, n_best=3), attention=True)
    traces = [each.attention for each in (best, *best.alternatives) if each.attention is not None]
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        file = Path(directory, "page.html")
        file.write_text(page(traces, title=best.text), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1100, "height": 820}, locale="en")
        view.goto(file.as_uri())
        view.locator("input[value=lines]").check()
        view.wait_for_timeout(500)
        view.screenshot(path=IMAGES / "gallery-page.png")
        browser.close()


def ask_it(translator: saccade.Translator) -> None:
    """Whether *it* looks at the animal that is tired, and at the street that is wide."""
    found, drawn = {}, None
    for adjective in ("tired", "wide"):
        text = ANIMAL.format(adjective)
        trace = translator.translate(text, attention=True).attention
        assert trace is not None
        trace = words(trace, punctuation=True)
        source = trace.source.tokens
        it, *nouns = (source.index(word) for word in ("it", "animal", "street"))
        found[adjective] = np.stack([layer.weights[:, it, nouns] for layer in trace.of("encoder")])
        drawn = drawn or (trace, text)
    assert drawn is not None
    layer, head = np.unravel_index(found["tired"][..., 0].argmax(), found["tired"].shape[:2])
    _write("it", svg(drawn[0], int(layer), int(head), kind="encoder", title=drawn[1]))
    print(f"largest weight from it to animal: layer {layer + 1}, head {head + 1}")
    print("| … because it was too | that head: animal | street | mean of all heads: animal | street |")
    for adjective, weights in found.items():
        one, mean = weights[layer, head], weights.mean(axis=(0, 1))
        print(f"| {adjective} | {one[0]:.2f} | {one[1]:.2f} | {mean[0]:.3f} | {mean[1]:.3f} |")
    turned = (found["wide"][..., 1] - found["wide"][..., 0] > 0) & (found["tired"][..., 0] - found["tired"][..., 1] > 0)
    print(f"heads that prefer the animal when tired and the street when wide: {turned.sum()} of {turned.size}")


def _write(name: str, picture: str) -> None:
    path = IMAGES / f"gallery-{name}.svg"
    path.write_text(picture, encoding="utf-8")
    print(path)


if __name__ == "__main__":
    model = saccade.load(sys.argv[1])
    draw(model)
    ask_it(model)
    photograph(model)
