"""Traces as a model might have left them, made without one, and pages of them in a browser."""

import base64
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

READING = "willReadFrequently"  # advice that a test gets for reading a canvas


def near_diagonal(random: np.random.Generator, heads: int, looks: int, looked_at: int, causal: bool = False) -> NDArray:
    """Each head looks some way beside the diagonal, some sharply, some hardly; some of it goes to the last."""
    row, column = np.arange(looks)[:, None], np.arange(looked_at)
    found = []
    for _ in range(heads):
        beside, width = random.normal(0, 1.2), random.uniform(0.4, 2.5)
        scores = -(((column - row * looked_at / looks - beside) / width) ** 2) + random.normal(
            0, 1.2, (looks, looked_at)
        )
        scores[:, -1] += random.uniform(0, 4)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = np.where(row >= column, weights, 0) + (column == 0) * 1e-9 if causal else weights
        found.append(weights / weights.sum(axis=1, keepdims=True))
    return np.array(found, dtype=np.float32)


def png(red: NDArray, green: NDArray, blue: NDArray) -> str:
    """The address of a picture, each channel height × width of bytes."""
    height, width = red.shape
    pixels = np.stack([red, green, blue], axis=-1).astype(np.uint8).reshape(height, 3 * width)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines)))
    body = b"".join(_chunk(name, data) for name, data in (*chunks, (b"IEND", b"")))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@pytest.fixture(scope="session")
def translation_trace() -> Callable[..., object]:
    """A trace of a translation: all three kinds of attention, as many layers and heads as asked for."""

    def make(source: Sequence[str], target: Sequence[str], *, layers: int = 2, heads: int = 4, seed: int = 0, **more):
        from saccade.trace.trace import AttentionTrace, Layer, Tokens

        random = np.random.default_rng(seed)
        sizes = {"cross": (len(target), len(source)), "encoder": (len(source),) * 2, "decoder": (len(target),) * 2}
        found = [
            Layer(f"{kind}.{at}", kind, near_diagonal(random, heads, *size, causal=kind == "decoder"))
            for kind, size in sizes.items()
            for at in range(layers)
        ]
        log_probs = tuple(-random.exponential(0.3, len(target)))
        given = {"model": "toy", "score": float(np.mean(log_probs)), "token_log_probs": log_probs}
        return AttentionTrace(
            source=Tokens(tuple(source)), target=Tokens(tuple(target)), layers=tuple(found), **given | more
        )

    return make


@pytest.fixture(scope="session")
def caption_trace() -> Callable[..., object]:
    """A trace of an image's caption: a spot on a grid of 7 × 10 for each word, over a sky and a meadow."""

    def make(words: Sequence[str], *, layers: int = 2, heads: int = 2, seed: int = 0):
        from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

        random, rows, columns = np.random.default_rng(seed), 7, 10
        down, across = np.mgrid[0:rows, 0:columns]

        def spots() -> NDArray:
            places = zip(
                random.uniform(1, rows - 2, len(words)), random.uniform(1, columns - 2, len(words)), strict=True
            )
            found = [np.exp(-((down - y) ** 2 + (across - x) ** 2) / random.uniform(1, 4)) for y, x in places]
            return np.array([spot.ravel() / spot.sum() for spot in found], dtype=np.float32)

        found = [Layer(f"look.{at}", "image", np.array([spots() for _ in range(heads)])) for at in range(layers)]
        y, x = np.mgrid[0:210, 0:300]
        hill = y > 130 + 22 * np.sin(x / 45)
        sun = (x - 225) ** 2 + (y - 50) ** 2 < 26**2
        shade = np.where(hill, 120 - y // 4, 215 - y // 3)
        image = png(
            np.where(sun, 250, np.where(hill, shade - 10, shade - 25)),
            np.where(sun, 215, shade + 15),
            np.where(sun, 110, np.where(hill, 60, 235)),
        )
        picture = Picture(rows, columns, image)
        return AttentionTrace(
            source=Tokens(()), target=Tokens(tuple(words)), layers=tuple(found), model="captioner", image=picture
        )

    return make


@pytest.fixture(params=["only_dejavu", "system_fonts"])
def fonts(request: pytest.FixtureRequest) -> None:
    """Once with the one font that is always there, which draws boxes for many scripts, and once with fonts of all."""
    request.getfixturevalue(request.param)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open HTML from a file, with no network. At the end, nothing may have been asked of it, and nothing complained."""
    contexts, problems = [], []

    def open_page(
        html: str, *, width: int = 1280, height: int = 860, scheme: str = "light", locale: str = "en-US"
    ) -> Any:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale)
        contexts.append(context)
        context.set_offline(True)
        view = context.new_page()
        view.set_default_timeout(10_000)
        view.on("console", lambda message: READING not in message.text and problems.append(message.text))
        view.on("pageerror", lambda error: problems.append(f"error: {error}"))
        view.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        view.on("requestfailed", lambda request: problems.append(f"failed: {request.url[:80]}"))
        view.on("request", lambda request: request.url.startswith(("file:", "data:")) or problems.append(request.url))
        view.goto(path.as_uri())
        return view

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
