"""A sheet for SVG, as large as what is on it. Each script is drawn apart, as resvg takes one font for a whole text."""

import math
from collections.abc import Iterator

from saccade.markup import Markup, join, tag, trusted
from saccade.trace.labels import MARK, characters, goes_left
from saccade.trace.metrics import CJK, families, runs, text_width

PADDING = 24
ASCENT, DESCENT = 1.05, 0.35
"""How far letters with their marks reach above and below the line, of the font's size."""
SPARE = 1.1
"""Room is left for fonts that are wider than the one whose widths we know."""
INK, QUIET, FAINT, EMPTY, PALE, STRONG = "#1c2333", "#5d667a", "#a4acbe", "#eef1f7", "#7f8fda", "#1d2a80"
"""Colours of text, of what is said beside it, of marks; of no weight, of half and of a full one."""
SIZES = {"title": 18, "quiet": 12, "": 14}

STYLE = f"""
  .saccade text {{ fill: {INK}; font-size: 14px; font-family: {families("")}; }}
  .saccade .title {{ font-size: 18px; font-weight: 500; }}
  .saccade .quiet {{ font-size: 12px; fill: {QUIET}; }}
  .saccade .mark {{ fill: {FAINT}; font-family: {families("")}; }}
"""  # all below .saccade, so that a page around the picture keeps its looks; nothing bold, whose width differs too much


class Canvas:
    """Drawn upon from wherever one likes; `finish` moves the whole into view."""

    def __init__(self) -> None:
        self._elements: list[Markup] = []
        self._scripts: set[str] = set()
        self._styles: list[str] = []
        self.left, self.top, self.right, self.bottom = math.inf, math.inf, -math.inf, -math.inf

    def add(self, element: Markup) -> None:
        """SVG that reaches no further than what is drawn otherwise, or is not seen itself."""
        self._elements.append(join(element, "\n"))

    def style(self, rules: str) -> None:
        """More rules of style; each begins with `.saccade`."""
        self._styles.append(rules)

    def cover(self, x: float, y: float, width: float, height: float) -> None:
        """Keep a rectangle in view."""
        self.left, self.right = min(self.left, x), max(self.right, x + width)
        self.top, self.bottom = min(self.top, y), max(self.bottom, y + height)

    def rect(self, x: float, y: float, width: float, height: float, *inside: Markup, **attributes: object) -> None:
        self.cover(x, y, width, height)
        self.add(tag("rect", *inside, x=x, y=y, width=width, height=height, **attributes))

    def text(
        self, x: float, y: float, content: str, kind: str = "", *, anchor: str = "start", slanted: bool = False
    ) -> None:
        """Write a line; `anchor` says which of its points is at x: start, middle or end, always from the left."""
        size, pieces = SIZES[kind], list(_pieces(content))
        widths = [text_width(piece, size) for _, piece in pieces]
        start = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * sum(widths)
        self._cover_text(start, y, sum(widths), size, x if slanted else None)
        turned = f"rotate(-45 {x:g} {y:g})" if slanted else None
        if anchor == "middle" and len(pieces) > 1:
            x, anchor = start, "start"
        for at, (script, piece) in enumerate(pieces):
            self._scripts.add(script)
            place = x - sum(widths[at + 1 :]) if anchor == "end" else x + sum(widths[:at])
            place += _blank(piece, anchor) * size
            where = anchor if anchor != "start" else None
            names = filter(None, (kind, "mark" if piece == MARK else "", f"in-{script}" if script else ""))
            attributes = {"class_": " ".join(names) or None, "x": place, "y": y}
            self.add(tag("text", _marked(piece.strip()), **attributes, text_anchor=where, transform=turned))

    def finish(self, title: str) -> str:
        """The whole picture on white, with a border of nothing around it."""
        self.cover(self.left - PADDING, self.top - PADDING, 0, 0)
        self.cover(self.right + PADDING, self.bottom + PADDING, 0, 0)
        left, top = math.floor(self.left), math.floor(self.top)
        size = {"width": math.ceil(self.right) - left, "height": math.ceil(self.bottom) - top}
        used = sorted(self._scripts - {""})
        fonts = (f"  .saccade .in-{name} {{ font-family: {families(name, self._scripts)}; }}\n" for name in used)
        picture = tag(
            "svg",
            tag("title", title),
            tag("style", trusted("".join((STYLE, *fonts, *self._styles)))),
            tag("rect", x=left, y=top, **size, fill="#ffffff"),
            *self._elements,
            class_="saccade",
            xmlns="http://www.w3.org/2000/svg",
            **size,
            viewBox=f"{left} {top} {size['width']} {size['height']}",
            role="img",
        )
        return f"{picture}\n"

    def _cover_text(self, start: float, y: float, width: float, size: float, pivot: float | None) -> None:
        reach, middle = width * SPARE, start + width / 2
        above, below = ASCENT * size, DESCENT * size
        if pivot is None:
            self.cover(middle - reach / 2, y - above, reach, above + below)
            return
        turn = math.sqrt(0.5)  # sine and cosine of 45°; up is where y shrinks
        for along in (0.0, reach):
            for aside in (-above, below):
                self.cover(pivot + turn * (along + aside), y + turn * (aside - along), 0, 0)


def _pieces(content: str) -> Iterator[tuple[str, str]]:
    """Script and text of what is drawn apart, in the order of the eye, from left to right."""
    mark, rest = (MARK, content[1:]) if content.startswith(MARK) and content != MARK else ("", content)
    if goes_left(rest):
        yield next((script for script, _ in runs(rest) if script), ""), rest
        if mark:
            yield "", mark
        return
    pieces = list(runs(rest))
    if mark and _is_plain(pieces[0]):
        pieces[0] = pieces[0][0], mark + pieces[0][1]
    elif mark:
        yield "", mark
    yield from pieces


def _blank(piece: str, anchor: str) -> float:
    """How far blanks at the edge move the rest of a piece: they are not drawn, as programs disagree about them."""
    if anchor == "end":
        return -text_width(piece[len(piece.rstrip()) :], 1)
    return text_width(piece[: len(piece) - len(piece.lstrip())], 1)


def _is_plain(piece: tuple[str, str]) -> bool:
    """Whether it has one glyph for each character in whatever font: only then resvg copes with a mark within it."""
    script, text = piece
    return script in ("", *CJK) and len(characters(text)) == len(text)


def _marked(piece: str) -> Markup:
    """The text as XML, its mark of a word's beginning made faint; turned as a whole where it goes to the left."""
    if goes_left(piece):
        return join(f"\u2067{piece}\u2069")
    if piece.startswith(MARK) and piece != MARK:
        return join(tag("tspan", MARK, class_="mark"), piece[1:])
    return join(piece)
