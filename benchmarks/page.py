"""How fast the interactive page is, in the system's Chromium: 200 × 200 tokens, 6 layers of 8 heads, three kinds.

Opened from a file; interactive means that the first picture is drawn, the pointer was moved over it, its weight was
read out, and the frame with it was shown. A hover is the time from the event until the read-out has changed and
everything is drawn.

    python -m benchmarks.page [TOKENS]
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
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

# Once drawn, a frame is waited for, the pointer moved, and the read-out's answer waited for.
FIRST_ANSWER = """
window.answered = new Promise(done => {
  const look = () => {
    const area = document.querySelector("html[data-ready] .matrix");
    if (!area) return requestAnimationFrame(look);
    const box = area.getBoundingClientRect(), clientX = box.left + box.width / 2, clientY = box.top + box.height / 2;
    area.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse", clientX, clientY }));
    if (!/0[.][0-9]{4}/.test(document.getElementById("readout").textContent)) throw new Error("no answer");
    requestAnimationFrame(() => done(performance.now()));
  };
  if (location.protocol === "file:") requestAnimationFrame(look);
});
"""

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

    def draw_weights() -> np.ndarray:
        powers = np.exp(scores + random.normal(0, 1.5, (NUM_HEADS, tokens, tokens)))
        weights: np.ndarray = (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)
        return weights

    layers = [Layer(f"{kind}.{at}", kind, draw_weights()) for kind in KINDS for at in range(NUM_LAYERS)]
    source, target = (Tokens(tuple(f"▁{side}{at}" for at in range(tokens))) for side in ("source", "target"))
    return AttentionTrace(source=source, target=target, layers=tuple(layers))


def open_times(view: Page, address: str) -> list[tuple[float, float]]:
    """From the start of the navigation until the page answers the pointer, and until all weights are loaded."""
    times = []
    view.add_init_script(FIRST_ANSWER)
    for _ in range(OPENED):
        view.goto("about:blank")
        view.goto(address)
        times.append((view.evaluate("answered"), view.evaluate("performance.now()")))
    return times


def describe_times(what: str, times: Sequence[float]) -> str:
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
        answered, loaded = zip(*open_times(view, path.as_uri()), strict=True)
        print(describe_times("opened and interactive", answered))
        print(describe_times("loaded to its end", loaded))
        print(describe_times("pointing at the matrix", view.evaluate(HOVER, [".matrix", HOVERS])))
        for name in ("lines", "grid", "matrix"):
            print(describe_times(f"to the view {name}", [view.evaluate(CHOOSE, name)]))
            if name == "lines":
                print(describe_times("pointing at a token of the lines", view.evaluate(HOVER, [".lines", HOVERS])))
        browser.close()


if __name__ == "__main__":
    main()
