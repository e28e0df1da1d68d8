"""Attention as one self-contained SVG picture: no script, no font file, nothing from the network."""

from collections.abc import Sequence

from saccade.markup import tag
from saccade.trace.alignment import links
from saccade.trace.axes import Axes, axes
from saccade.trace.canvas import EMPTY, STRONG, Canvas
from saccade.trace.labels import label
from saccade.trace.trace import AttentionTrace, Kind, Matrix

PITCH, CELL = 28, 26
BETWEEN = 4
"""Rows left free between two matrices, for what is written there."""
LONGEST_LABEL, LONGEST_TITLE = 24, 80  # columns of a terminal

STYLE = f"""
  .saccade .cell {{ fill: {STRONG}; }}
  .saccade .strongest {{ stroke: {STRONG}; stroke-width: 1.6; }}
  .saccade .cell:hover {{ stroke: #e8590c; stroke-width: 2; }}
"""


def svg(
    trace: AttentionTrace,
    layer: int | None = None,
    head: int | None = None,
    *,
    kind: Kind | None = None,
    title: str = "Attention",
) -> str:
    """Draw one layer and head, or the mean over those not named; a memory's reads and writes below each other."""
    drawn, sides = trace.apart(layer, kind=kind), axes(trace, kind)
    matrices = [trace.matrix(each, head, kind=kind) for each in drawn]
    captions = [trace.caption(each, head, kind=kind) for each in drawn]
    rows, columns = ([label(token, LONGEST_LABEL) for token in side] for side in (sides.rows, sides.columns))
    largest, title = max(float(matrix.max()) for matrix in matrices), label(title, LONGEST_TITLE)
    canvas, top = Canvas(), 0
    canvas.style(STYLE)
    cell = tag("rect", x=1, y=1, width=CELL, height=CELL, rx=4, fill=EMPTY)
    canvas.add(tag("pattern", cell, id="saccade-empty", width=PITCH, height=PITCH, patternUnits="userSpaceOnUse"))
    for matrix, caption in zip(matrices, captions, strict=True):
        if top:
            canvas.text(canvas.left, top - 48, caption, "quiet")
        _draw_cells(canvas, matrix, (rows, columns), largest or 1.0, top)
        _write_tokens(canvas, rows, columns, sides, top)
        top += PITCH * (len(rows) + BETWEEN)
    _write_legend(canvas, top - PITCH * BETWEEN + 26, largest)
    head_line(canvas, title, captions[0])
    return canvas.finish(f"{title}: {'; '.join(captions)}")


def head_line(canvas: Canvas, title: str, caption: str) -> None:
    """Title and caption over all that is drawn already, and flush with it."""
    left, top = canvas.left, canvas.top
    canvas.text(left, top - 40, title, "title")
    canvas.text(left, top - 20, caption, "quiet")


def _draw_cells(
    canvas: Canvas, matrix: Matrix, tokens: tuple[Sequence[str], Sequence[str]], largest: float, top: float
) -> None:
    """Weights upon empty cells, the largest of each row with a border."""
    rows, columns = tokens
    canvas.rect(0, top, PITCH * len(columns), PITCH * len(rows), fill="url(#saccade-empty)")
    strongest = set(links(matrix))
    for row, (looks, weights) in enumerate(zip(rows, matrix, strict=True)):
        for column, (looked_at, weight) in enumerate(zip(columns, weights, strict=True)):
            kind = "cell strongest" if (column, row) in strongest else "cell"
            title, opacity = tag("title", f"{looks} ← {looked_at}: {weight:.3f}"), round(float(weight / largest), 3)
            place = PITCH * column + 1, top + PITCH * row + 1
            canvas.rect(*place, CELL, CELL, title, rx=4, class_=kind, fill_opacity=opacity)


def _write_tokens(canvas: Canvas, rows: Sequence[str], columns: Sequence[str], sides: Axes, top: float) -> None:
    for at, token in enumerate(columns):
        canvas.text(PITCH * at + PITCH / 2 + 4, top - 9, token, slanted=True)
    for at, token in enumerate(rows):
        canvas.text(-10, top + PITCH * at + PITCH / 2 + 5, token, anchor="end")
    canvas.text(-10, top - 26, f"{sides.column_name} →", "quiet", anchor="end")
    canvas.text(-10, top - 8, f"{sides.row_name} ↓", "quiet", anchor="end")


def _write_legend(canvas: Canvas, y: float, largest: float) -> None:
    stops = (tag("stop", offset=at, stop_color=STRONG, stop_opacity=at) for at in (0, 1))
    canvas.add(tag("linearGradient", *stops, id="saccade-scale"))
    canvas.text(0, y, "0", "quiet")
    canvas.rect(14, y - 10, 110, 12, rx=3, fill=EMPTY)
    canvas.rect(14, y - 10, 110, 12, rx=3, fill="url(#saccade-scale)")
    canvas.text(131, y, f"{largest:.2f}", "quiet")
    canvas.rect(180, y - 10, 12, 12, rx=3, class_="strongest", fill=EMPTY)
    canvas.text(199, y, "largest of its row", "quiet")
