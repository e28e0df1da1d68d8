"""HTML and SVG, built so that a string is escaped unless it is known to be markup; and pages without other files."""

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_VOID = {"meta", "input"}


class Markup(str):
    """A string that is markup already; only this module makes it, from strings that it has escaped."""

    __slots__ = ()


def text(content: object) -> Markup:
    """The content with nothing in it that means anything to a browser; numbers with six digits at most."""
    if isinstance(content, Markup):
        return content
    return Markup(f"{content:g}" if isinstance(content, float) else escape(_CONTROL.sub("\ufffd", str(content))))


def tag(name: str, /, *inside: object, **attributes: object) -> Markup:
    """An element. `class_` is class, `data_row` is data-row; True stands without a value, None and False not at all."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{written}>" + ("" if name in _VOID else f"{join(*inside)}</{name}>"))


def join(*parts: object) -> Markup:
    """One after the other."""
    return Markup("".join(map(text, parts)))


def fill(template: str, /, **values: object) -> Markup:
    """A template of this package, each `$name` in it replaced by its value. Its attributes must be quoted."""
    return Markup(Template(template).substitute({name: text(value) for name, value in values.items()}))


def fill_page(template: str, /, *, style: str, script: str, **values: object) -> Markup:
    """The template of a whole page, whose policy names its style and its script by their hashes."""
    hashes = {"style_hash": _csp_hash(style), "script_hash": _csp_hash(script)}
    return fill(template, style=trusted(style), script=trusted(script), **hashes, **values)


def trusted(content: str) -> Markup:
    """A style or a script of this package, in which nothing is escaped."""
    assert not re.search("</(style|script)", content, re.IGNORECASE), "it would end its element"
    return Markup(content)


def embed_json(value: object) -> Markup:
    """JSON for a script element: without <, no tag and no comment begins or ends in it."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII only, so U+2028 is escaped, too
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def web_file(name: str) -> str:
    """A file of `web/`."""
    return (files("saccade") / "web" / name).read_text(encoding="utf-8")


def _csp_hash(content: str) -> Markup:
    """What a Content-Security-Policy knows a style or a script by; any other is refused."""
    return Markup(f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'")
