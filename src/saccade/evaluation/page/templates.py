"""The pieces of the page (web/report/parts.html) and what it says in two languages, of which it shows one."""

import re
import tomllib
from functools import cache

from saccade.markup import Markup, fill, tag, text, web_file

LABELS: dict[str, dict[str, str]] = tomllib.loads(web_file("report/labels.toml"))
LANGUAGES = {"en": "en", "zh": "zh-CN"}


def both(key: str, element: str = "span", /, **values: object) -> Markup:
    """A label in both languages; `element` is tspan inside a picture."""
    return fill(_label(key, element), **values)


def part(name: str, /, **values: object) -> Markup:
    """A piece of the page with these values in it."""
    return fill(_PARTS[name], **values)


def with_labels(template: str) -> str:
    """The template with each `{{key}}` replaced by the label of that name; a label's `{name}` is a `$name`."""
    return re.sub(r"\{\{(.+?)\}\}", lambda match: _label(match[1]), template)


@cache
def _label(key: str, element: str = "span") -> str:
    written = ((name, re.sub(r"\{(\w+)\}", r"${\1}", text(LABELS[key][name]))) for name in LANGUAGES)
    return "".join(tag(element, Markup(words), class_=name, lang=LANGUAGES[name]) for name, words in written)


def _split(template: str) -> dict[str, str]:
    """Each piece by the name in the comment above it."""
    _, *pieces = re.split(r"^<!-- (.+) -->\n", template, flags=re.MULTILINE)
    return dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))


_PARTS = _split(with_labels(web_file("report/parts.html")))
