"""Points and the way through them that a pointer network has found, as one self-contained SVG picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.markup import tag
from saccade.trace.canvas import EMPTY, FAINT, PALE, STRONG, Canvas
from saccade.trace.labels import label
from saccade.trace.svg import LONGEST_TITLE, head_line

SIDE, MARGIN = 320, 16

STYLE = f"""
  .saccade .point {{ fill: {STRONG}; }}
  .saccade .way {{ fill: {PALE}; fill-opacity: 0.25; stroke: {STRONG}; stroke-width: 2; stroke-linejoin: round; }}
  .saccade .right {{ fill: none; stroke: {FAINT}; stroke-width: 6; stroke-linejoin: round; }}
"""


def points_svg(
    points: NDArray[np.floating[Any]], order: Sequence[int], right: Sequence[int] = (), *, title: str = "Pointing"
) -> str:
    """Draw points between 0 and 1, and upon them the closed way in this order; the right one lies behind, broad."""
    x, y = (MARGIN + SIDE * points[:, 0]).round(1), (MARGIN + SIDE * (1 - points[:, 1])).round(1)
    canvas, title = Canvas(), label(title, LONGEST_TITLE)
    canvas.style(STYLE)
    canvas.rect(0, 0, SIDE + 2 * MARGIN, SIDE + 2 * MARGIN, rx=6, fill=EMPTY)
    for chosen, name in ((right, "right"), (order, "way")):
        corners = " ".join(f"{x[at]:g},{y[at]:g}" for at in chosen)
        canvas.add(tag("polygon", class_=name, points=corners))
    for at, (across, down) in enumerate(zip(x, y, strict=True)):
        words = f"{at + 1}: ({points[at, 0]:.2f}, {points[at, 1]:.2f})"
        canvas.add(tag("circle", tag("title", words), class_="point", cx=across, cy=down, r=4))
    for step, at in enumerate(order, start=1):
        canvas.text(x[at] + 7, y[at] - 6, str(step), "quiet")
    caption = f"{len(order)} of {len(points)} points"
    if len(right):
        caption += ", as it should be" if list(order) == list(right) else ", not as it should be"
    head_line(canvas, title, caption)
    return canvas.finish(f"{title}: {caption}")
