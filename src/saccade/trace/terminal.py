"""Attention in the terminal: source tokens across the top, target tokens down the side, a shade for each weight."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from saccade.trace.alignment import links
from saccade.trace.labels import MARK, characters, label
from saccade.trace.trace import AttentionTrace, Matrix

CELL = 2  # columns of the terminal: a cell is about square, and holds one wide character
LONGEST_HEADER = 12
SHADES = " ░▒▓█"
RAMP = [ColorTriplet(*stop) for stop in ((28, 30, 46), (41, 58, 118), (45, 115, 178), (92, 190, 190), (250, 240, 165))]
DARK, LIGHT = Color.from_rgb(20, 22, 34), Color.from_rgb(240, 240, 240)


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What rich prints: in colour where the terminal has 256 colours or more, in shades of grey elsewhere."""

    caption: str
    source: Sequence[str]
    target: Sequence[str]
    matrix: Matrix

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system in ("256", "truecolor") and not console.no_color
        side = [label(token, max(6, options.max_width // 4)) for token in self.target]
        margin = max(map(cell_len, side)) + 1
        yield Text(self.caption, style="bold")
        for block in _blocks(len(self.source), (options.max_width - margin) // CELL):
            yield Text()
            yield from self._header(block, margin)
            yield from self._rows(block, side, margin, coloured)
        yield Text()
        yield self._legend(coloured)

    def _header(self, block: range, margin: int) -> Iterator[Text]:
        """Source tokens written downwards, each ending right above its column."""
        tokens = [characters(label(self.source[at], LONGEST_HEADER, "⋮")) for at in block]
        height = max(map(len, tokens))
        for line in range(height):
            text = Text(" " * margin, no_wrap=True)
            for token in tokens:
                place = line - (height - len(token))
                _write(text, token[place] if place >= 0 else "", CELL)
            yield text

    def _rows(self, block: range, side: Sequence[str], margin: int, coloured: bool) -> Iterator[Text]:
        largest = float(self.matrix.max()) or 1.0
        strongest = {target: source for source, target in links(self.matrix)}
        for target, token in enumerate(side):
            text = Text(" " * (margin - 1 - cell_len(token)), no_wrap=True)
            _write(text, token, cell_len(token) + 1)
            for source in block:
                weight = float(self.matrix[target, source])
                percent = f"{min(int(100 * weight), 99):2d}" if strongest.get(target) == source else ""
                text.append_text(_cell(weight / largest, percent, coloured))
            yield text

    def _legend(self, coloured: bool) -> Text:
        text = Text("weight 0 ")
        for shade in range(len(SHADES)):
            text.append_text(_cell(shade / (len(SHADES) - 1), "", coloured))
        text.append(f" {self.matrix.max():.2f}")
        return text.append(", the largest of each row in percent" if coloured else "")


def heatmap(trace: AttentionTrace, layer: int | None = None, head: int | None = None) -> Heatmap:
    """Draw one layer and head, or the mean over those that are not named: `rich.print(heatmap(trace))`."""
    return Heatmap(trace.caption(layer, head), trace.source.tokens, trace.target.tokens, trace.matrix(layer, head))


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
    text.append(" " * (cells - cell_len(token)))


def _cell(share: float, content: str, coloured: bool) -> Text:
    """A share of 0 is the palest, 1 the strongest."""
    if not coloured:
        step = max(round(share * (len(SHADES) - 1)), 1 if content else 0)
        return Text(SHADES[step] * CELL)
    stop = min(int(share * (len(RAMP) - 1)), len(RAMP) - 2)
    shade = blend_rgb(RAMP[stop], RAMP[stop + 1], share * (len(RAMP) - 1) - stop)
    ink = DARK if share > 0.5 else LIGHT
    return Text(content or " " * CELL, style=Style(color=ink, bgcolor=Color.from_triplet(shade)))
