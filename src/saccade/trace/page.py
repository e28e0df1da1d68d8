"""The interactive page of attention: one HTML file, made of `web/attention/`, that needs neither network nor server.

Its policy lets no other script run. Tokens reach it as JSON (trace/file.py) that cannot end its element, and are shown
as text only; each layer's weights stand in an element of their own, which `weights` names.
"""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from saccade.markup import embed_json, fill_page, join, tag, web_file
from saccade.trace.file import finite, to_json
from saccade.trace.trace import AttentionTrace

SCRIPTS = ("words", "trace", "tokens", "surface", "matrix", "lines", "grid", "image", "controls", "readout", "main")
"""In the order in which they need each other."""


def page(traces: Sequence[AttentionTrace], *, title: str = "") -> str:
    """The page of one translation: its hypotheses, best first, to switch between. Write it as UTF-8."""
    if not traces:
        raise ValueError("A page needs at least one trace, but got none.")
    tables = [to_json(trace) for trace in traces]
    for table in tables:  # a log-probability of minus infinity is no JSON
        table["token_log_probs"] = table["token_log_probs"] and list(map(finite, table["token_log_probs"]))
    weights = _take_out_weights(tables)
    shown_first = {layer["weights"] for layer in tables[0]["layers"] if layer["kind"] == traces[0].main}
    elements = {name: tag("script", packed, type="text/plain", id=name) for name, packed in weights.items()}
    return fill_page(
        web_file("attention/page.html"),
        style=web_file("attention/page.css"),
        script=_script(),
        title=title or "Attention",
        data=embed_json({"title": title, "traces": tables}),
        # Before the script stands what it draws first, so that it need not wait for the rest.
        first=join(*(element for name, element in elements.items() if name in shown_first)),
        others=join(*(element for name, element in elements.items() if name not in shown_first)),
    )


def _take_out_weights(tables: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The weights by the name of their element, which takes their place; what hypotheses share is there once."""
    names: dict[str, str] = {}
    for layer in chain.from_iterable(table["layers"] for table in tables):
        layer["weights"] = names.setdefault(layer["weights"], f"weights-{len(names)}")
    return {name: packed for packed, name in names.items()}


@cache
def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(web_file(f"attention/{name}.js") for name in SCRIPTS) + "})();\n"
