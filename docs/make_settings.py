"""Writes settings.md, the page of every setting, from the settings classes themselves: `make docs`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.fields import Field, describe
from saccade.models.settings import ConvolutionalSettings, RecurrentSettings, TransformerSettings
from saccade.recipe import Recipe
from saccade.settings import kinds
from saccade.tasks.build import recipe_classes
from saccade.tasks.translation.settings import TranslationRecipe

PAGE = Path(__file__).with_name("settings.md")

HEAD = """\
# Settings of a recipe

<!-- Written by docs/make_settings.py from the docstrings of the settings classes. Change those, then: make docs -->

A recipe is a TOML file with these sections. What you leave out has its default; a name that is not on this page is
refused, and the nearest one that is on it is suggested. Any setting can also be given on the command line:
`--set training.updates=500`. Relative paths start from the recipe's own directory, those given with `--set` from the
current one; `~` and `$NAME` are expanded. A value out of its bounds is refused, and all problems are reported at once.

An interrupted run is resumed with the settings that it began with. Those marked ↻ may change meanwhile: they do not
alter what the updates so far have meant. (Files may move; what they hold may not change.)
"""

HEADINGS = {
    "": "At the top",
    "data.train[]": "`[[data.train]]` and `[data.valid]`",  # two uses of the same settings
    "data.valid": None,
}

PRESETS = {
    "transformer": TransformerSettings.PRESETS,
    "recurrent": RecurrentSettings.PRESETS,
    "convolutional": ConvolutionalSettings.PRESETS,
}


TASKS = """\
# Recipes of other tasks

A recipe with a `[task]` instead of `[data]` and `[tokenizer]` learns that task. `run` is as above; batches are measured
in examples, by `task.batch`. `[training]` has the settings that are named here. A recipe of a task that searches also
has `[search]`, as above. A setting that a task would ignore is refused.
"""


def page() -> str:
    """The whole page."""
    others = [recipe for recipe in dict.fromkeys(recipe_classes().values()) if recipe is not TranslationRecipe]
    tasks = list(dict.fromkeys(field for recipe in others for field in own_fields(recipe)))
    common = [field.path.partition(".")[2] for field in describe(others[-1]) if field.path.startswith("training.")]
    listed = f"## `[training]` of every task\n\n{', '.join(f'`{name}`' for name in common)}\n"
    return "\n".join([HEAD, *sections_of(describe(TranslationRecipe)), TASKS, listed, *sections_of(tasks)])


def own_fields(recipe: type[Recipe]) -> Iterator[Field]:
    """Those of task and model, with the kind of their section, also where there is only one."""
    for field in describe(recipe):
        section = field.path.partition(".")[0]
        if section in ("task", "model"):
            yield replace(field, kind=field.kind or " or ".join(kinds(recipe, section)))


def sections_of(described: Iterable[Field]) -> list[str]:
    """A table for each section, and for each of its kinds."""
    sections: dict[tuple[str, str], list[Field]] = {}
    for field in described:
        sections.setdefault((field.path.rpartition(".")[0], field.kind), []).append(field)
    parts = []
    for (name, kind), fields in sections.items():
        if heading := HEADINGS.get(name, f"`[{name}]`"):
            named_kinds = " or ".join(f'`kind = "{one}"`' for one in kind.split(" or "))
            heading += f" with {named_kinds}" if kind else ""
            parts.append(f"## {heading}\n\n{table(('setting', 'value', 'default', 'meaning'), map(row, fields))}")
        if name == "model" and kind in PRESETS:
            parts.append(presets(kind))
    return parts


def row(field: Field) -> tuple[str, ...]:
    mark = " ↻" if field.may_change else ""
    default = "must be given" if field.default is None else f"`{field.default}`" if field.default else ""
    return f"`{field.path.rpartition('.')[2]}`{mark}", re.sub(r"\ban? ", "", field.type), default, field.help


def presets(kind: str) -> str:
    """What `model.preset` stands for."""
    named = PRESETS[kind]
    settings = list(dict.fromkeys(setting for values in named.values() for setting in values))
    rows = [(f"`{name}`", *(str(values.get(setting, "")) for setting in settings)) for name, values in named.items()]
    return "The presets:\n\n" + table(("preset", *(f"`{setting}`" for setting in settings)), rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown, where a bar would end the cell."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
