"""The plots of the page, as SVG inside of it: bars with intervals, dots, and heaps."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.evaluation.page.templates import both
from saccade.markup import Markup, join, tag

WIDTH = 360
LEFT, RIGHT = 92, 14  # of bars: room for the labels, and for the last number of the axis
TOP, BOTTOM, SIDE = 24, 230, 34  # of what has two axes
BAR, BETWEEN, AXIS = 12, 16, 26
GOLDEN = 0.6180339887


@dataclass(frozen=True, slots=True)
class Bar:
    """One system in one bucket."""

    system: int
    value: float
    lower: float
    upper: float
    hint: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One bucket."""

    label: Markup | str
    count: int
    bars: Sequence[Bar]


def bar_chart(groups: Sequence[Bars], title: str) -> Markup:
    """Bars to the right, a group a bucket; the scale begins at 0."""
    ticks = nice_ticks(0, max((bar.upper for group in groups for bar in group.bars), default=0))
    heights = [max(30, BAR * len(group.bars)) + BETWEEN for group in groups]
    bottom = sum(heights) + 4
    parts: list[Markup] = []
    for value in ticks:
        x = _place(value, ticks, LEFT, WIDTH - RIGHT)
        parts += [_line(x, 4, x, bottom, "grid"), _text(x, bottom + 16, value, "tick middle")]
    top = 4.0
    for group, height in zip(groups, heights, strict=True):
        middle = top + height / 2
        parts.append(_text(LEFT - 10, middle - 2, group.label, "label end"))
        parts.append(_text(LEFT - 10, middle + 12, f"n = {group.count:,}", "tick end"))
        begin = middle - BAR * len(group.bars) / 2
        parts += [_bar(bar, begin + at * BAR, ticks, few=group.count < 30) for at, bar in enumerate(group.bars)]
        top += height
    return _picture(join(*parts), bottom + AXIS, title)


def strip(bar: Bar, low: float, high: float) -> Markup:
    """One interval as a line and its score as a dot, between two ends."""
    x, lower, upper = (_place(value, (low, high), 6, 154) for value in (bar.value, bar.lower, bar.upper))
    inside = (
        _line(6, 8, 154, 8, "grid"),
        _line(lower, 8, upper, 8, f"interval {colour(bar.system)}"),
        tag("circle", cx=x, cy=8, r=4, class_=f"dot {colour(bar.system)}"),
        tag("title", bar.hint),
    )
    return tag("svg", *inside, viewBox="0 0 160 16", class_="strip", role="img", aria_label=bar.hint)


def scatter(points: Sequence[Sequence[tuple[int, float]]], title: str) -> Markup:
    """Words and score of sentences, of one system after the other."""
    largest = max((length for system in points for length, _ in system), default=1)
    across, up = nice_ticks(0, largest), nice_ticks(0, 100)
    parts = _frame(across, up)
    for number, system in enumerate(points):
        for row, (length, score) in enumerate(system):
            # Lengths are whole numbers: dots are moved aside by less than half a word, so that they can be told apart.
            aside = (row * GOLDEN) % 1 - 0.5
            x, y = _place(max(0.0, length + 0.8 * aside), across, SIDE, WIDTH - RIGHT), _place(score, up, BOTTOM, TOP)
            parts.append(tag("circle", cx=x, cy=y, r=2.2, class_=f"point {colour(number)}"))
    parts += [_text(WIDTH - RIGHT, BOTTOM + 36, both("words", "tspan"), "tick end"), _text(0, 10, "chrF2", "tick")]
    return _picture(join(*parts), BOTTOM + 42, title)


def histogram(values: Sequence[float], title: str, *, above: int = 0, around_zero: bool = False) -> Markup:
    """How many values lie in each part of 5; those below 0 in the colour of the first system, others in `above`'s."""
    parts_of_5 = Counter(min(95, math.floor(value / 5) * 5) for value in values)
    begin, end = min(parts_of_5, default=0), max(parts_of_5, default=0) + 5
    if around_zero:
        begin, end = min(begin, -end), max(-begin, end)
    across, up = nice_ticks(begin, end), nice_ticks(0, max(parts_of_5.values(), default=1))
    parts = _frame(across, up)
    for edge, count in sorted(parts_of_5.items()):
        left, right = (_place(value, across, SIDE, WIDTH - RIGHT) for value in (edge, edge + 5))
        top = _place(count, up, BOTTOM, TOP)
        hint = tag("title", f"{edge} … {edge + 5}: {count:,}")
        box = {"x": left + 0.75, "y": top, "width": right - left - 1.5, "height": BOTTOM - top}
        parts.append(tag("rect", hint, **box, rx=2, class_=f"bar {colour(0 if edge < 0 else above)}"))
    if around_zero:
        zero = _place(0, across, SIDE, WIDTH - RIGHT)
        parts.append(_line(zero, TOP, zero, BOTTOM, "axis"))
    parts.append(_text(WIDTH - RIGHT, BOTTOM + 36, title, "tick end"))
    return _picture(join(*parts), BOTTOM + 42, title)


def colour(system: int) -> str:
    """The class that gives a system its colour; page.css has six."""
    return f"s{system % 6}"


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal distances, four to nine of them, that reach from `low` to `high`."""
    span = max(high - low, 1e-9)
    size = 10 ** math.floor(math.log10(span / 4))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if span / (size * factor) <= 6)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, max(last, first + 1) + 1)]


def _frame(across: Sequence[float], up: Sequence[float]) -> list[Markup]:
    parts = []
    for value in up:
        y = _place(value, up, BOTTOM, TOP)
        parts += [_line(SIDE, y, WIDTH - RIGHT, y, "grid"), _text(SIDE - 6, y + 4, value, "tick end")]
    for value in across:
        x = _place(value, across, SIDE, WIDTH - RIGHT)
        parts.append(_text(x, BOTTOM + 18, value, "tick middle"))
    return parts


def _bar(bar: Bar, y: float, ticks: Sequence[float], *, few: bool) -> Markup:
    zero, end, lower, upper = (
        _place(value, ticks, LEFT, WIDTH - RIGHT) for value in (0, bar.value, bar.lower, bar.upper)
    )
    box = {"x": zero, "y": y + 1.5, "width": end - zero, "height": BAR - 3}
    middle = y + BAR / 2
    return tag(
        "g",
        tag("title", bar.hint),
        tag("rect", x=LEFT, y=y, width=WIDTH - RIGHT - LEFT, height=BAR, class_="ground"),
        tag("rect", **box, rx=2, class_=f"bar {colour(bar.system)}"),
        _line(lower, middle, upper, middle, "whisker"),
        _line(lower, middle - 3, lower, middle + 3, "whisker"),
        _line(upper, middle - 3, upper, middle + 3, "whisker"),
        class_="few" if few else None,
    )


def _place(value: float, ends: Sequence[float], begin: float, end: float) -> float:
    """Between `begin` and `end`, in tenths: numbers are kept short, as thousands of them are written."""
    low, high = ends[0], ends[-1]
    return round(begin + (value - low) / ((high - low) or 1) * (end - begin), 1)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _text(x: float, y: float, words: object, kind: str) -> Markup:
    return tag("text", words, x=x, y=y, class_=kind)


def _picture(inside: Markup, height: float, title: str) -> Markup:
    return tag("svg", inside, viewBox=f"0 0 {WIDTH} {height:g}", class_="chart", role="img", aria_label=title)
