"""A recipe: everything a training run is made from, in one TOML file. No torch here.

Every task has a recipe class of its own, in the `settings.py` of its folder, with exactly the settings that it obeys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from saccade.fields import Changeable
from saccade.training.reporter import Reporter
from saccade.training.settings import TrainingSettings


@runtime_checkable  # so that the shape checks of the tests can look at it
class HasKind(Protocol):
    """The settings of a task or of a model."""

    @property
    def kind(self) -> str:
        """Its name in a recipe."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The sections of every recipe. One that decodes also has `search`; translation also has `data` and `tokenizer`."""

    run: Changeable[Path]
    """Directory of the run: prepared data, checkpoints, metrics and the finished model."""
    task: HasKind
    """What is learned; translation unless given."""
    model: HasKind
    """What is trained."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    """How it is trained."""

    def resolved(self) -> "Recipe":
        """The same with what follows from other files, such as the vocabulary of a model that training starts from."""
        return self

    def prepare(self, reporter: Reporter) -> None:
        """Make what is learned from, unless it is there."""
        from saccade.tasks.build import open_task

        open_task(self).prepare(reporter)

    @staticmethod
    def load(path: str | Path, overrides: Sequence[str] = ()) -> "Recipe":
        """Read a recipe of any task; `overrides` are settings such as `training.updates=500`."""
        from saccade.tasks.build import load_recipe

        return load_recipe(Path(path), overrides)


def recipe_of(task: type[HasKind], model: type[HasKind]) -> type[Recipe]:
    """The recipe class of a task that obeys no other sections than these and `training`, each with its defaults."""
    sections = [(name, cls, field(default_factory=cls)) for name, cls in (("task", task), ("model", model))]
    return make_dataclass(f"{task.__name__}Recipe", sections, bases=(Recipe,), frozen=True, kw_only=True, slots=True)
