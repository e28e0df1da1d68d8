"""All heads of all layers at a glance, as small multiples in one self-contained SVG picture."""

import math

import numpy as np

from saccade.markup import tag
from saccade.trace.axes import Axes, axes
from saccade.trace.bitmap import blend, image_address
from saccade.trace.canvas import EMPTY, PALE, STRONG, Canvas
from saccade.trace.labels import label
from saccade.trace.svg import LONGEST_TITLE, head_line
from saccade.trace.trace import AttentionTrace, Kind, Matrix

PANEL, GAP, NARROWEST = 88, 10, 22
SHARPEST = 176
"""Pixels of a panel's image at least, so that cells stay sharp where a program blurs images that it enlarges."""
TICKS = (0.0, 0.1, 0.25, 0.5, 1.0)


def head_grid(trace: AttentionTrace, *, kind: Kind | None = None, title: str = "Attention") -> str:
    """Draw every head of every layer of one kind: a row for a layer, a column for a head, all on one scale."""
    layers, sides = trace.of(kind), axes(trace, kind)
    title = label(title, LONGEST_TITLE)
    _, looks, looked_at = layers[0].weights.shape  # cells are square unless one side would become too thin
    width, height = (max(NARROWEST, PANEL * side / max(looks, looked_at)) for side in (looked_at, looks))
    num_heads = max(layer.num_heads for layer in layers)
    largest = max(float(layer.weights.max()) for layer in layers) or 1.0
    canvas = Canvas()
    for row, layer in enumerate(layers):
        y = row * (height + GAP)
        canvas.text(-10, y + height / 2 + 5, layer.name if layer.kind == "memory" else str(row + 1), anchor="end")
        for column, weights in enumerate(layer.weights):
            words = f"layer {row + 1}, head {column + 1}"
            _draw_panel(canvas, weights / largest, (column * (width + GAP), y, width, height), words)
    for head in range(num_heads):
        canvas.text(head * (width + GAP) + width / 2, -10, str(head + 1), anchor="middle")
    canvas.text(-10, -28, "head →", "quiet", anchor="end")
    canvas.text(-10, -10, "layer ↓", "quiet", anchor="end")
    _write_legend(canvas, len(layers) * (height + GAP) + 22, largest, sides)
    size = f"{len(layers)} layer{'s' * (len(layers) > 1)} of {num_heads} head{'s' * (num_heads > 1)}"
    caption = f"{kind or trace.main} attention, {size}"
    head_line(canvas, title, caption)
    return canvas.finish(f"{title}: {caption}")


def _draw_panel(canvas: Canvas, shares: Matrix, place: tuple[float, float, float, float], words: str) -> None:
    """The square root of a share is its shade: most weights are small, and differ there."""
    times = max(1, math.ceil(SHARPEST / max(shares.shape)))
    pixels = np.sqrt(shares).repeat(times, axis=0).repeat(times, axis=1)
    x, y, width, height = place
    image = {"x": x, "y": y, "width": width, "height": height, "preserveAspectRatio": "none"}
    href = image_address(pixels, PALETTE)
    canvas.add(tag("image", tag("title", words), **image, style="image-rendering: pixelated", href=href))
    canvas.rect(*place, fill="none", stroke=PALE, stroke_opacity=0.5, stroke_width=0.7)


def _write_legend(canvas: Canvas, y: float, largest: float, sides: Axes) -> None:
    canvas.text(0, y, f"within each: {sides.row_name} ↓ and {sides.column_name} →", "quiet")
    x, y = 0, y + 14
    stops = ((0, EMPTY), (0.5, PALE), (1, STRONG))
    canvas.add(tag("linearGradient", *(tag("stop", offset=at, stop_color=c) for at, c in stops), id="saccade-root"))
    canvas.rect(x, y, 220, 12, rx=3, fill="url(#saccade-root)")
    canvas.text(x + 230, y + 10, "weight", "quiet")
    for tick in TICKS:
        canvas.text(x + 220 * math.sqrt(tick), y + 27, f"{tick * largest:.2g}", "quiet", anchor="middle")


def _colour(code: str) -> tuple[int, int, int, int]:
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16), 255


PALETTE = [*blend(_colour(EMPTY), _colour(PALE))[::2], *blend(_colour(PALE), _colour(STRONG))[::2]]
