"""Traces in a notebook: the interactive page in a frame of its own, so that neither touches the other; offline, too."""

from collections.abc import Sequence
from typing import NamedTuple

from saccade.markup import Markup, join, tag
from saccade.trace.axes import axes
from saccade.trace.page import page
from saccade.trace.trace import AttentionTrace

AROUND, ROW = 420, 32
"""Pixels of what stands around a matrix, and of one of its rows."""
LEAST, MOST = 620, 960
FRAMES = 20
"""How many frames a list has at most; each holds all weights of its translation."""


class Shown(NamedTuple):
    """One entry of a list."""

    source: str
    text: str
    traces: Sequence[AttentionTrace] = ()
    """Of its hypotheses, best first."""


def repr_html(traces: Sequence[AttentionTrace], *, title: str = "") -> Markup:
    """What `_repr_html_` returns for one translation: its hypotheses, best first."""
    height = min(max(AROUND + ROW * len(axes(traces[0]).rows), LEAST), MOST)
    return tag(
        "iframe",
        title=title or "Attention",
        sandbox="allow-scripts",
        loading="lazy",
        style=f"width: 100%; height: {height}px; border: 0; border-radius: 8px; resize: vertical",
        srcdoc=str(page(traces, title=title)),
    )


def repr_html_list(entries: Sequence[Shown]) -> Markup:
    """What `_repr_html_` returns for a list of translations: a line for each, which opens its page if it has one."""
    if not any(entry.traces for entry in entries):
        return tag("table", *(tag("tr", tag("td", entry.source), tag("td", entry.text)) for entry in entries))
    return join(*(_line(entry, framed=number < FRAMES) for number, entry in enumerate(entries)))


def _line(entry: Shown, *, framed: bool) -> Markup:
    texts = join(tag("bdi", entry.source), " → ", tag("bdi", entry.text))
    if not (framed and entry.traces):
        return tag("p", texts)
    return tag("details", tag("summary", texts), repr_html(entry.traces))
