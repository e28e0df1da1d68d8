"""Attention in the terminal: what is looked at across the top, who looks down the side, a shade for each weight."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from saccade.trace.alignment import links
from saccade.trace.axes import Axes, axes
from saccade.trace.labels import LEFT_TO_RIGHT, MARK, characters, for_terminal, goes_left, label
from saccade.trace.trace import AttentionTrace, Kind, Matrix

CELL = 2  # columns of the terminal: a cell is about square, and holds one wide character
LONGEST_HEADER = 12
SHADES, ASCII_SHADES = " ░▒▓█", " .:*#"
ASCII = str.maketrans({MARK: "_", "…": "~", "⋮": "~"})
RAMP = [ColorTriplet(*stop) for stop in ((28, 30, 46), (41, 58, 118), (45, 115, 178), (92, 190, 190), (250, 240, 165))]
DARK, LIGHT = Color.from_rgb(20, 22, 34), Color.from_rgb(240, 240, 240)


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What rich prints: in colour where the terminal has 256 colours or more, in shades of grey elsewhere."""

    caption: str
    sides: Axes
    matrix: Matrix

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system in ("256", "truecolor") and not console.no_color
        shades = "" if coloured else ASCII_SHADES if options.ascii_only else SHADES
        rows = [_label(token, max(6, options.max_width // 4), options) for token in self.sides.rows]
        columns = [_label(token, LONGEST_HEADER, options, "⋮") for token in self.sides.columns]
        margin = max(map(cell_len, rows)) + 1
        yield Text(self.caption, style="bold")
        for block in _blocks(len(columns), (options.max_width - margin) // CELL):
            yield Text()
            yield from _header([characters(columns[at]) for at in block], margin)
            yield from self._rows(block, rows, margin, shades)
        yield Text()
        yield self._legend(shades)

    def _rows(self, block: range, side: Sequence[str], margin: int, shades: str) -> Iterator[Text]:
        largest = float(self.matrix.max()) or 1.0
        strongest = {row: column for column, row in links(self.matrix)}
        for row, token in enumerate(side):
            text = Text(" " * (margin - 1 - cell_len(token)), no_wrap=True)
            _write(text, token, cell_len(token) + 1)
            for column in block:
                weight = float(self.matrix[row, column])
                percent = f"{min(int(100 * weight), 99):2d}" if strongest.get(row) == column else ""
                text.append_text(_cell(weight / largest, percent, shades))
            yield text

    def _legend(self, shades: str) -> Text:
        text = Text("weight 0 ")
        for step in range(len(SHADES)):
            text.append_text(_cell(step / (len(SHADES) - 1), "", shades))
        text.append(f" {self.matrix.max():.2f}")
        text.append("" if shades else ", the largest of each row in percent")
        return text.append(f"\ndown: {self.sides.row_name}; across: {self.sides.column_name}")


def heatmap(
    trace: AttentionTrace, layer: int | None = None, head: int | None = None, *, kind: Kind | None = None
) -> Heatmap:
    """Draw one layer and head, or the mean over those that are not named: `rich.print(heatmap(trace))`."""
    return Heatmap(trace.caption(layer, head, kind=kind), axes(trace, kind), trace.matrix(layer, head, kind=kind))


def _label(token: str, cells: int, options: ConsoleOptions, ellipsis: str = "…") -> str:
    """The token as this terminal can show it; what its encoding lacks is a question mark."""
    shown = label(for_terminal(token) or token, cells, ellipsis)
    if options.ascii_only:
        shown = shown.translate(ASCII)
    return shown.encode(options.encoding, "replace").decode(options.encoding)


def _header(tokens: Sequence[Sequence[str]], margin: int) -> Iterator[Text]:
    """Tokens written downwards, each ending right above its column."""
    height = max(map(len, tokens))
    for line in range(height):
        text = Text(" " * margin, no_wrap=True)
        for token in tokens:
            place = line - (height - len(token))
            _write(text, token[place] if place >= 0 else "", CELL)
        yield text


def _blocks(count: int, most: int) -> Iterator[range]:
    """Cut so many columns into blocks of about equal width that each fit."""
    number = -(-count // max(1, most))
    width = -(-count // number)
    for start in range(0, count, width):
        yield range(start, min(count, start + width))


def _write(text: Text, token: str, cells: int) -> None:
    """Append a token, filled up with blanks to so many columns, its mark of a word's beginning made faint."""
    for character in characters(token):
        text.append(character, style="dim" if character == MARK else None)
    if any(map(goes_left, token)):
        text.append(LEFT_TO_RIGHT)  # else a terminal that turns such words turns the cells after them as well
    text.append(" " * (cells - cell_len(token)))


def _cell(share: float, content: str, shades: str) -> Text:
    """A share of 0 is the palest, 1 the strongest; in colour where there are no shades."""
    if shades:
        step = max(round(share * (len(shades) - 1)), 1 if content else 0)
        return Text(shades[step] * CELL)
    stop = min(int(share * (len(RAMP) - 1)), len(RAMP) - 2)
    shade = blend_rgb(RAMP[stop], RAMP[stop + 1], share * (len(RAMP) - 1) - stop)
    ink = DARK if share > 0.5 else LIGHT
    return Text(content or " " * CELL, style=Style(color=ink, bgcolor=Color.from_triplet(shade)))
