"""Traces in a notebook: the interactive page in a frame of its own, so that neither touches the other; offline, too."""

from collections.abc import Sequence
from html import escape

from saccade.trace.page import page
from saccade.trace.trace import AttentionTrace

HEIGHT = 700


def repr_html(traces: Sequence[AttentionTrace], *, title: str = "") -> str:
    """What `_repr_html_` returns for one translation: its hypotheses, best first."""
    return (
        f'<iframe title="{escape(title or "Attention")}" sandbox="allow-scripts" '
        f'style="width: 100%; height: {HEIGHT}px; border: 0; border-radius: 8px" '
        f'srcdoc="{escape(page(traces, title=title))}"></iframe>'
    )
