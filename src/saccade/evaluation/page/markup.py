"""HTML and SVG put together so that text is escaped unless it is known to be markup."""

import re
from html import escape

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_VOID = {"meta", "input"}


class Markup(str):
    """Text that is markup already; only this module makes it, from text that it has escaped."""

    __slots__ = ()


def text(content: object) -> Markup:
    """As it stands, with nothing in it that means anything to a browser."""
    return Markup(content if isinstance(content, Markup) else escape(_CONTROL.sub("\ufffd", str(content))))


def tag(name: str, /, *inside: object, **attributes: object) -> Markup:
    """An element. `class_` is class, `data_row` is data-row; True stands without a value, None and False not at all."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if name in _VOID else f"{join(*inside)}</{name}>"
    return Markup(f"<{name}{written}>{end}")


def join(*parts: object) -> Markup:
    """One after the other."""
    return Markup("".join(map(text, parts)))


def raw(name: str, content: str) -> Markup:
    """A style or script of this package, in which nothing is escaped."""
    assert "</" not in content, "it would end the element"
    return Markup(f"<{name}>{content}</{name}>")
