"""The image once for each word, each on its own scale, dark where the model does not look (Xu et al. 2015, fig. 3)."""

import re
import zlib

import numpy as np

from saccade.errors import SaccadeError
from saccade.markup import tag
from saccade.trace.bitmap import blend, image_address
from saccade.trace.canvas import QUIET, Canvas
from saccade.trace.labels import label
from saccade.trace.metrics import fit
from saccade.trace.svg import LONGEST_TITLE, head_line
from saccade.trace.trace import AttentionTrace, Matrix, Picture

TILE, GAP, LINE = 168, 14, 30
MOST_IN_A_ROW = 6
FINENESS, BLUR = 8, 0.6
"""Pixels of a mask for each cell, and how far a cell's weight spreads, in cells."""
GAMMA = 0.75
"""Below 1, so that what has half the weight is more than half as bright, as the eye sees it."""
VEIL = blend((10, 14, 30, 190), (10, 14, 30, 0))
ADDRESS = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/\s]+={0,2}\s*")


def overlay(trace: AttentionTrace, *, title: str = "Attention") -> str:
    """Draw a sheet of copies of the image, one for each target token, as one self-contained SVG picture."""
    image = trace.image
    if image is None or "image" not in trace.kinds:
        raise SaccadeError(
            f"Only attention to an image can be laid over one, but this trace has {', '.join(trace.kinds)} attention"
            f"{'' if image else ' and no image'}. Draw it as a matrix instead."
        )
    canvas, title = Canvas(), label(title, LONGEST_TITLE)
    form = min(max(image.form or image.columns / image.rows, 0.4), 2.5)
    width, height = round(TILE * min(1, form)), round(TILE / max(1, form))
    name = _define(canvas, image, width, height)
    words = ["", *trace.target.tokens]
    masks = [None, *trace.matrix(kind="image")]
    in_a_row = min(MOST_IN_A_ROW, -(-len(words) // -(-len(words) // MOST_IN_A_ROW)))
    for at, (word, weights) in enumerate(zip(words, masks, strict=True)):
        x, y = at % in_a_row * (width + GAP), at // in_a_row * (height + GAP + LINE)
        canvas.cover(x, y, width, height)
        canvas.add(tag("use", href=f"#{name}", x=x, y=y))
        if weights is not None:
            _veil(canvas, weights.reshape(image.rows, image.columns), (x, y, width, height), word)
            canvas.text(x + width / 2, y + height + 20, fit(label(word, 40), 14, width - 8), anchor="middle")
    caption = trace.caption(kind="image")
    head_line(canvas, title, caption)
    return canvas.finish(f"{title}: {caption}")


def _define(canvas: Canvas, image: Picture, width: float, height: float) -> str:
    """The image, to be used again and again; its name differs from that of any other in the same page."""
    name = f"saccade-image-{zlib.crc32(image.data.encode()):08x}"
    size = {"id": name, "width": width, "height": height}
    if not image.data:
        canvas.add(tag("defs", tag("rect", **size, fill=QUIET)))
        return name
    if not ADDRESS.fullmatch(image.data):
        raise SaccadeError(
            "The image of a trace must be a data: address of a PNG, JPEG, GIF or WebP image in base64, so that a "
            f"picture needs nothing else, but it begins with {image.data[:24]!r}. Make the trace again."
        )
    canvas.add(tag("defs", tag("image", **size, preserveAspectRatio="none", href=image.data)))
    return name


def _veil(canvas: Canvas, weights: Matrix, place: tuple[float, float, float, float], word: str) -> None:
    strongest = np.unravel_index(np.argmax(weights), weights.shape)
    words = f"{label(word, 40)}: most, {weights.max():.3f}, in row {strongest[0] + 1}, column {strongest[1] + 1}"
    box = dict(zip(("x", "y", "width", "height"), place, strict=True))
    href = image_address(enlarge(weights) ** GAMMA, VEIL)
    canvas.add(tag("image", tag("title", words), **box, preserveAspectRatio="none", href=href))


def enlarge(weights: Matrix) -> Matrix:
    """Each cell in many pixels, blurred into its neighbours; the largest is 1."""
    smooth = _spread(weights.shape[0]) @ weights @ _spread(weights.shape[1]).T
    return np.asarray(smooth / (smooth.max() or 1.0))


def _spread(cells: int) -> Matrix:
    """Pixels × cells: how much of each cell a pixel takes."""
    places = (np.arange(cells * FINENESS) + 0.5) / FINENESS
    distances = places[:, None] - (np.arange(cells) + 0.5)
    bells = np.exp(-0.5 * (distances / BLUR) ** 2)
    return np.asarray(bells / bells.sum(axis=1, keepdims=True))
