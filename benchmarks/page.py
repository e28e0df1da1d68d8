"""How fast the interactive page is, in the system's Chromium: 200 × 200 tokens, 6 layers of 8 heads, three kinds.

Opened from a file; interactive means that its first picture is drawn and it answers the pointer. A hover is the time
from the pointer's event until the read-out has changed and everything is drawn, the next frame not waited for.

    python benchmarks/page.py [TOKENS]
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from saccade.trace.page import page
from saccade.trace.trace import AttentionTrace, Kind, Layer, Tokens

NUM_LAYERS, NUM_HEADS, OPENED, HOVERS = 6, 8, 5, 200
KINDS: tuple[Kind, ...] = ("cross", "encoder", "decoder")
ARGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]

# Events are sent from within the page, as driving the mouse from outside takes longer than what is measured.
HOVER = """([selector, count]) => {
  const area = document.querySelector(selector), box = area.getBoundingClientRect(), times = [];
  const tokens = document.querySelectorAll(".right button"), readout = document.getElementById("readout");
  for (let at = 0; at < count; at++) {
    const place = (at * 0.618) % 1, before = readout.textContent, start = performance.now();
    if (tokens.length) {
      const token = tokens[Math.floor(place * tokens.length)];
      token.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
    } else {
      const clientX = box.left + box.width * (0.25 + 0.5 * place);
      const clientY = box.top + box.height * (0.2 + 0.7 * ((at * 0.414) % 1));
      area.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse", clientX, clientY }));
    }
    document.body.getBoundingClientRect();
    for (const canvas of document.querySelectorAll("#stage canvas")) canvas.getContext("2d").getImageData(0, 0, 1, 1);
    if (readout.textContent === before) throw new Error("the read-out did not change");
    times.push(performance.now() - start);
  }
  return times;
}"""

CHOOSE = """name => new Promise(done => {
  const start = performance.now();
  document.querySelector(`input[name=view][value=${name}]`).click();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""


def trace(tokens: int) -> AttentionTrace:
    """Near the diagonal, with noise."""
    random = np.random.default_rng(0)
    row, column = np.arange(tokens)[:, None], np.arange(tokens)
    scores = -(((column - row) / 3) ** 2)

    def weights() -> np.ndarray:
        found = np.exp(scores + random.normal(0, 1.5, (NUM_HEADS, tokens, tokens)))
        return (found / found.sum(axis=-1, keepdims=True)).astype(np.float32)

    layers = [Layer(f"{kind}.{at}", kind, weights()) for kind in KINDS for at in range(NUM_LAYERS)]
    source, target = (Tokens(tuple(f"▁{side}{at}" for at in range(tokens))) for side in ("source", "target"))
    return AttentionTrace(source=source, target=target, layers=tuple(layers))


def open_times(view: Page, address: str) -> list[float]:
    """From the start of the navigation to the first frame after everything is drawn, in milliseconds."""
    times = []
    for _ in range(OPENED):
        view.goto("about:blank")
        view.goto(address)
        view.wait_for_selector("html[data-ready]", state="attached")
        times.append(view.evaluate("new Promise(done => requestAnimationFrame(() => done(performance.now())))"))
    return times


def told(what: str, times: list[float]) -> str:
    return f"{what:32} median {statistics.median(times):7.1f} ms   largest {max(times):7.1f} ms   of {len(times)}"


def main() -> None:
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        path = Path(directory) / "page.html"
        path.write_text(page([trace(tokens)]), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        view = browser.new_page(viewport={"width": 1280, "height": 860})
        print(f"{tokens} × {tokens} tokens, {NUM_LAYERS} layers × {NUM_HEADS} heads × {len(KINDS)} kinds,", end=" ")
        print(f"{path.stat().st_size / 1e6:.1f} MB, Chromium {browser.version}")
        print(told("opened and interactive", open_times(view, path.as_uri())))
        print(told("pointing at the matrix", view.evaluate(HOVER, [".matrix", HOVERS])))
        for name in ("lines", "grid", "matrix"):
            print(told(f"to the view {name}", [view.evaluate(CHOOSE, name)]))
            if name == "lines":
                print(told("pointing at a token of the lines", view.evaluate(HOVER, [".lines", HOVERS])))
        browser.close()


if __name__ == "__main__":
    main()
