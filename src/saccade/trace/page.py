"""The interactive page of attention: one HTML file that needs nothing but a browser, neither network nor server.

Its parts lie in `web/attention/`, and are put together as they are. The page's own policy lets no other script run,
and nothing be loaded; tokens reach it as JSON that cannot end its element, and are shown as text only.
"""

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from saccade.trace.file import to_json
from saccade.trace.trace import AttentionTrace

SCRIPTS = ("words", "trace", "tokens", "surface", "matrix", "lines", "grid", "image", "controls", "readout", "main")
"""In the order in which they need each other."""


def page(traces: Sequence[AttentionTrace], *, title: str = "") -> str:
    """The page of one translation: its hypotheses, best first, to switch between.

    Write it as UTF-8. Without a title it is called Attention, in the reader's language.
    """
    if not traces:
        raise ValueError("A page needs at least one trace, but got none.")
    script, style = _script(), _part("page.css")
    table = {"title": _printable(title), "traces": [_finite(to_json(trace)) for trace in traces]}
    return Template(_part("page.html")).substitute(
        title=escape(_printable(title) or "Attention"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=_embedded(table),
    )


def _embedded(table: dict[str, Any]) -> str:
    """JSON that stands in a script element: without <, no tag and no comment begins or ends in it."""
    text = json.dumps(table, separators=(",", ":"), allow_nan=False)  # ASCII only, so U+2028 is escaped, too
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(table: dict[str, Any]) -> dict[str, Any]:
    """A score of minus infinity, which is no JSON, is left out."""
    probs = table["token_log_probs"]
    return table | {
        "score": _known(table["score"]),
        "log_prob": _known(table["log_prob"]),
        "token_log_probs": None if probs is None else [_known(each) for each in probs],
    }


def _known(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _printable(text: str) -> str:
    """What UTF-8 and HTML can hold."""
    return "".join("\ufffd" if "\ud800" <= each <= "\udfff" or each < " " else each for each in text)


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_part(f"{name}.js") for name in SCRIPTS) + "})();\n"


@cache
def _part(name: str) -> str:
    return (files("saccade") / "web" / "attention" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a Content-Security-Policy names a script or a style that may be used."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
