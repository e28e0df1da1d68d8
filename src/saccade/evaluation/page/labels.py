"""What the page says in two languages, of which it shows one: see labels.toml."""

import tomllib
from importlib.resources import files

from saccade.evaluation.page.markup import Markup, join, tag, text

LABELS: dict[str, dict[str, str]] = tomllib.loads(
    files("saccade.evaluation.page").joinpath("labels.toml").read_text(encoding="utf-8")
)
LANGUAGES = {"en": "en", "zh": "zh-CN"}


def both(key: str, element: str = "span", **values: object) -> Markup:
    """A label in both languages; `element` is tspan inside a picture. A value may be a label's own two texts."""
    found = []
    for name, code in LANGUAGES.items():
        filled = {each: text(value[name] if isinstance(value, dict) else value) for each, value in values.items()}
        found.append(tag(element, Markup(text(LABELS[key][name]).format(**filled)), class_=name, lang=code))
    return join(*found)
