"""Attention as one self-contained SVG picture: no script, no font file, nothing from the network."""

from collections.abc import Sequence

from saccade.trace.alignment import links
from saccade.trace.axes import Axes, axes
from saccade.trace.canvas import EMPTY, STRONG, Canvas
from saccade.trace.labels import label
from saccade.trace.trace import AttentionTrace, Kind, Matrix

PITCH, CELL = 28, 26
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
    """Draw one layer and head, or the mean over those not named; pointing at a cell shows its weight."""
    matrix, sides = trace.matrix(layer, head, kind=kind), axes(trace, kind)
    title, caption = label(title, LONGEST_TITLE), trace.caption(layer, head, kind=kind)
    rows, columns = ([label(token, LONGEST_LABEL) for token in side] for side in (sides.rows, sides.columns))
    canvas = Canvas()
    canvas.style(STYLE)
    _draw_cells(canvas, matrix, rows, columns)
    _write_tokens(canvas, rows, columns, sides)
    _write_legend(canvas, PITCH * len(rows) + 26, float(matrix.max()))
    head_line(canvas, title, caption)
    return canvas.finish(f"{title}: {caption}")


def head_line(canvas: Canvas, title: str, caption: str) -> None:
    """Title and caption over all that is drawn already, and flush with it."""
    left, top = canvas.left, canvas.top
    canvas.text(left, top - 40, title, "title")
    canvas.text(left, top - 20, caption, "quiet")


def _draw_cells(canvas: Canvas, matrix: Matrix, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Weights upon empty cells, the largest of each row with a border."""
    canvas.add(
        f'<pattern id="saccade-empty" width="{PITCH}" height="{PITCH}" patternUnits="userSpaceOnUse">'
        f'<rect x="1" y="1" width="{CELL}" height="{CELL}" rx="4" fill="{EMPTY}"/></pattern>'
    )
    canvas.rect(0, 0, PITCH * len(columns), PITCH * len(rows), 'fill="url(#saccade-empty)"')
    largest, strongest = float(matrix.max()) or 1.0, set(links(matrix))
    for row, (looks, weights) in enumerate(zip(rows, matrix, strict=True)):
        for column, (looked_at, weight) in enumerate(zip(columns, weights, strict=True)):
            kind = "cell strongest" if (column, row) in strongest else "cell"
            attributes = f'rx="4" class="{kind}" fill-opacity="{weight / largest:.3f}"'
            words = f"{looks} ← {looked_at}: {weight:.3f}"
            canvas.rect(PITCH * column + 1, PITCH * row + 1, CELL, CELL, attributes, words)


def _write_tokens(canvas: Canvas, rows: Sequence[str], columns: Sequence[str], sides: Axes) -> None:
    for at, token in enumerate(columns):
        canvas.text(PITCH * at + PITCH / 2 + 4, -9, token, slanted=True)
    for at, token in enumerate(rows):
        canvas.text(-10, PITCH * at + PITCH / 2 + 5, token, anchor="end")
    canvas.text(-10, -26, f"{sides.column_name} →", "quiet", anchor="end")
    canvas.text(-10, -8, f"{sides.row_name} ↓", "quiet", anchor="end")


def _write_legend(canvas: Canvas, y: float, largest: float) -> None:
    canvas.add(
        f'<linearGradient id="saccade-scale"><stop offset="0" stop-color="{STRONG}" stop-opacity="0"/>'
        f'<stop offset="1" stop-color="{STRONG}"/></linearGradient>'
    )
    canvas.text(0, y, "0", "quiet")
    canvas.rect(14, y - 10, 110, 12, f'rx="3" fill="{EMPTY}"')
    canvas.rect(14, y - 10, 110, 12, 'rx="3" fill="url(#saccade-scale)"')
    canvas.text(131, y, f"{largest:.2f}", "quiet")
    canvas.rect(180, y - 10, 12, 12, f'rx="3" class="strongest" fill="{EMPTY}"')
    canvas.text(199, y, "largest of its row", "quiet")
