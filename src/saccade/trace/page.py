"""The interactive page of attention: one HTML file that needs nothing but a browser, neither network nor server.

Its parts lie in `web/attention/`, and are put together as they are. The page's own policy lets no other script run,
and nothing be loaded; tokens reach it as JSON that cannot end its element, and are shown as text only. That JSON is
the form of `trace.file`, but that each layer's weights stand in an element of their own, which `weights` names.
"""

import base64
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import chain
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
    tables = [_finite(to_json(trace)) for trace in traces]
    weights = _take_out_weights(tables)
    shown_first = {layer["weights"] for layer in tables[0]["layers"] if layer["kind"] == traces[0].main}
    return Template(_part("page.html")).substitute(
        title=escape(_printable(title) or "Attention"),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=_embedded({"title": _printable(title), "traces": tables}),
        first=_elements(weights, lambda name: name in shown_first),
        others=_elements(weights, lambda name: name not in shown_first),
    )


def _take_out_weights(tables: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The weights by the name of their element, which takes their place; what hypotheses share is there once."""
    names: dict[str, str] = {}
    for layer in chain.from_iterable(table["layers"] for table in tables):
        layer["weights"] = names.setdefault(layer["weights"], f"weights-{len(names)}")
    return {name: packed for packed, name in names.items()}


def _elements(weights: dict[str, str], wanted: Callable[[str], bool]) -> str:
    """Before the script stands what it draws first, so that it need not wait for the rest."""
    chosen = ((name, packed) for name, packed in weights.items() if wanted(name))
    return "\n".join(f'<script type="text/plain" id="{name}">{packed}</script>' for name, packed in chosen)


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
