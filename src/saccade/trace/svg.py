"""Attention as one self-contained SVG picture: no script, no font file, nothing from the network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rich.cells import cell_len

from saccade.trace.alignment import links
from saccade.trace.labels import MARK, label
from saccade.trace.trace import AttentionTrace, Matrix

PITCH, CELL = 28, 26
PADDING, TITLE_HEIGHT, LEGEND_HEIGHT, LEGEND_WIDTH, CORNER_WIDTH = 28, 62, 58, 310, 64
LONGEST_LABEL = 24  # columns of a terminal
SLANT = 0.7071  # sine and cosine of the 45° that source tokens are turned by

STYLE = """
  .saccade text { fill: #1c2333; font: 14px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue",
    "Noto Sans", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif; }
  .saccade .title { font-size: 18px; font-weight: 600; }
  .saccade .quiet { font-size: 12px; fill: #6b7488; }
  .saccade .mark { fill: #b3bacb; }
  .saccade .cell { fill: #3346b8; }
  .saccade .strongest { stroke: #141c52; stroke-width: 1.6; }
  .saccade .cell:hover { stroke: #e8590c; stroke-width: 2; }
"""  # all below .saccade, so that a page that the picture is put into keeps its own looks


@dataclass(frozen=True, slots=True)
class Layout:
    """What is written, and where the grid lies, in pixels."""

    title: str
    caption: str
    source: Sequence[str]
    target: Sequence[str]
    left: int
    """Where the grid begins: right of the target tokens."""
    top: int
    """Where it begins: under the source tokens."""

    @property
    def right(self) -> int:
        return self.left + PITCH * len(self.source)

    @property
    def bottom(self) -> int:
        return self.top + PITCH * len(self.target)

    @property
    def width(self) -> int:
        tokens = (self.column(at) + SLANT * _text_width(token) for at, token in enumerate(self.source))
        title = PADDING + 1.15 * _text_width(self.title)
        return round(max(self.right, self.left + LEGEND_WIDTH, title, *tokens)) + PADDING

    @property
    def height(self) -> int:
        return self.bottom + LEGEND_HEIGHT + PADDING // 2

    def column(self, source: int) -> int:
        """The middle of a column."""
        return self.left + PITCH * source + PITCH // 2

    def row(self, target: int) -> int:
        """The middle of a row."""
        return self.top + PITCH * target + PITCH // 2


def svg(trace: AttentionTrace, layer: int | None = None, head: int | None = None, *, title: str = "Attention") -> str:
    """Draw one layer and head, or the mean over those not named; pointing at a cell shows its weight."""
    layout = _lay_out(trace, label(title, 80), trace.caption(layer, head))
    matrix = trace.matrix(layer, head)
    lines = (
        f'<svg class="saccade" xmlns="http://www.w3.org/2000/svg" width="{layout.width}" height="{layout.height}" '
        f'viewBox="0 0 {layout.width} {layout.height}" role="img">',
        f"<title>{escape(layout.title)}: {escape(layout.caption)}</title>",
        f"<style>{STYLE}</style>",
        *_frame(layout),
        *_tokens(layout),
        *_cells(layout, matrix),
        *_legend(layout, float(matrix.max())),
        "</svg>",
    )
    return "\n".join(lines) + "\n"


def _lay_out(trace: AttentionTrace, title: str, caption: str) -> Layout:
    source, target = (
        [label(token, LONGEST_LABEL) for token in side] for side in (trace.source.tokens, trace.target.tokens)
    )
    left = PADDING + max(CORNER_WIDTH, *map(_text_width, target)) + 12
    top = PADDING + TITLE_HEIGHT + SLANT * max(map(_text_width, source)) + 12
    return Layout(title, caption, source, target, round(left), round(top))


def _frame(layout: Layout) -> Iterator[str]:
    """Background, title, and empty cells that the weights are laid upon."""
    yield '<rect width="100%" height="100%" rx="10" fill="#ffffff"/>'
    yield f'<text class="title" x="{PADDING}" y="{PADDING + 14}">{escape(layout.title)}</text>'
    yield f'<text class="quiet" x="{PADDING}" y="{PADDING + 34}">{escape(layout.caption)}</text>'
    yield f'<pattern id="saccade-empty" width="{PITCH}" height="{PITCH}" patternUnits="userSpaceOnUse">'
    yield f'<rect x="1" y="1" width="{CELL}" height="{CELL}" rx="4" fill="#eef1f7"/></pattern>'
    yield (
        f'<rect transform="translate({layout.left} {layout.top})" width="{layout.right - layout.left}" '
        f'height="{layout.bottom - layout.top}" fill="url(#saccade-empty)"/>'
    )


def _tokens(layout: Layout) -> Iterator[str]:
    for at, token in enumerate(layout.source):
        x, y = layout.column(at), layout.top - 8
        fits = _text_width(token) <= CELL
        how = 'text-anchor="middle"' if fits else f'transform="rotate(-45 {x} {y})"'
        yield f'<text x="{x}" y="{y}" {how}>{_marked(token)}</text>'
    for at, token in enumerate(layout.target):
        x, y = layout.left - 10, layout.row(at) + 5
        yield f'<text x="{x}" y="{y}" text-anchor="end">{_marked(token)}</text>'
    for words, y in (("source →", layout.top - 26), ("target ↓", layout.top - 8)):
        yield f'<text class="quiet" x="{layout.left - 10}" y="{y}" text-anchor="end">{words}</text>'


def _cells(layout: Layout, matrix: Matrix) -> Iterator[str]:
    largest = float(matrix.max()) or 1.0
    strongest = set(links(matrix))
    for row, (target, weights) in enumerate(zip(layout.target, matrix, strict=True)):
        for column, (source, weight) in enumerate(zip(layout.source, weights, strict=True)):
            kind = "cell strongest" if (column, row) in strongest else "cell"
            x, y = layout.column(column) - CELL // 2, layout.row(row) - CELL // 2
            yield (
                f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="4" '
                f'fill-opacity="{weight / largest:.3f}">'
                f"<title>{escape(target)} ← {escape(source)}: {weight:.3f}</title></rect>"
            )


def _legend(layout: Layout, largest: float) -> Iterator[str]:
    x, y = layout.left, layout.bottom + 30
    yield (
        '<linearGradient id="saccade-scale"><stop offset="0" stop-color="#3346b8" stop-opacity="0"/>'
        '<stop offset="1" stop-color="#3346b8"/></linearGradient>'
    )
    yield f'<rect x="{x + 14}" y="{y - 10}" width="110" height="12" rx="3" fill="#eef1f7"/>'
    yield f'<rect x="{x + 14}" y="{y - 10}" width="110" height="12" rx="3" fill="url(#saccade-scale)"/>'
    yield f'<text class="quiet" x="{x}" y="{y}">0</text>'
    yield f'<text class="quiet" x="{x + 131}" y="{y}">{largest:.2f}</text>'
    yield f'<rect class="strongest" x="{x + 180}" y="{y - 10}" width="12" height="12" rx="3" fill="#eef1f7"/>'
    yield f'<text class="quiet" x="{x + 199}" y="{y}">largest of its row</text>'


def _marked(token: str) -> str:
    """The token as XML, its mark of a word's beginning made faint."""
    return escape(token).replace(MARK, f'<tspan class="mark">{MARK}</tspan>')


def _text_width(text: str) -> float:
    """About as wide as any font sets it, and rather wider."""
    return 14 * sum(1.0 if cell_len(character) == 2 else 0.62 * cell_len(character) for character in text)
