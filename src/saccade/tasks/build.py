"""Every task by the name of its folder: to add a task is to add a folder and a line here.

A folder has a `settings.py` without torch, whose RECIPES are its recipe classes, and a `task.py`, whose `open_task`
makes the task of such a recipe. Torch is loaded when a task is opened, not before.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade import settings
from saccade.errors import SettingsError
from saccade.recipe import Recipe

if TYPE_CHECKING:
    from saccade.text.tokenizer import Tokenizers
    from saccade.training.task import Task

FOLDERS = (
    "translation",
    "captioning",
    "documents",
    "facets",
    "glyphs",
    "lookup",
    "memory",
    "pointing",
    "scenes",
)
DEFAULT = "translation"

_RECIPES: dict[type[Recipe], str] = {
    recipe: folder for folder in FOLDERS for recipe in import_module(f"saccade.tasks.{folder}.settings").RECIPES
}
"""The folder of each recipe class."""


def _members(section: str) -> dict[str, Any]:
    """The settings classes that a section may have in any recipe, by kind."""
    return {kind: member for recipe in _RECIPES for kind, member in settings.kinds(recipe, section).items()}


if TYPE_CHECKING:
    AnyTaskSettings = Any
    AnyModelSettings = Any
else:
    AnyTaskSettings = reduce(or_, dict.fromkeys(_members("task").values()))
    AnyModelSettings = reduce(or_, dict.fromkeys(_members("model").values()))


def recipe_classes() -> dict[str, type[Recipe]]:
    """The recipe class of each kind of task."""
    return {kind: recipe for recipe in _RECIPES for kind in settings.kinds(recipe, "task")}


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read the recipe of any task; `overrides` are settings such as `training.updates=500`."""
    return settings.load_chosen(lambda table: _recipe_class(table, path), path, overrides)


def open_task(recipe: Recipe, tokenizers: "Tokenizers | None" = None) -> "Task":
    """The task that a recipe asks for, perhaps with the tokenizers of a finished model."""
    task: Task = import_module(f"saccade.tasks.{_RECIPES[type(recipe)]}.task").open_task(recipe, tokenizers)
    return task


def _recipe_class(table: Mapping[str, Any], path: Path) -> type[Recipe]:
    """By the kind of the task that a table names."""
    classes, task = recipe_classes(), table.get("task", {"kind": DEFAULT})
    kind = task.get("kind") if isinstance(task, Mapping) else task
    if kind not in classes:
        given = "is missing" if kind is None else f"must not be {kind!r}"
        near = get_close_matches(str(kind), classes, n=1)
        advice = f' Did you mean "{near[0]}"?' if near else ""
        raise SettingsError(str(path), [f"task.kind {given}. It must be one of {', '.join(classes)}.{advice}"])
    if "task" not in table:
        _check_model(classes[kind], table, path)
    return classes[kind]


def _check_model(recipe: type[Recipe], table: Mapping[str, Any], path: Path) -> None:
    """A model of another task is a hint that [task] was forgotten."""
    model = table.get("model", {})
    kind = model.get("kind") if isinstance(model, Mapping) else None
    if kind in _members("model") and kind not in settings.kinds(recipe, "model"):
        tasks = [task for task, other in recipe_classes().items() if kind in settings.kinds(other, "model")]
        raise SettingsError(
            str(path),
            [f'model.kind = "{kind}" does not translate. It needs a [task] with kind = {" or ".join(tasks)}.'],
        )
