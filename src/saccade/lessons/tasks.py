"""From settings to a lesson: the one place that knows every task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import nn

from saccade.data.tasks.documents_settings import DocumentsSettings
from saccade.directory import TaskDirectory
from saccade.engines.torch import fill
from saccade.lessons.documents import DocumentsLesson
from saccade.recipe import TaskModelSettings, TaskRecipe, TaskSettings
from saccade.search.settings import SearchSettings
from saccade.trace.trace import AttentionTrace
from saccade.training.lesson import Lesson


@runtime_checkable
class TaskLesson(Lesson, Protocol):
    """A lesson that can also be asked about a finished model."""

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """The figures of a finished model, on data that nobody has seen."""
        ...

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the model attends to, for an input written as text, or for an example."""
        ...


def of_recipe(recipe: TaskRecipe) -> TaskLesson:
    """The lesson that a recipe asks for."""
    return _lesson(recipe.task, recipe.model, recipe.search, recipe.training.seed)


def open_model(path: Path) -> tuple[TaskLesson, nn.Module]:
    """A finished model, and the lesson that it was for."""
    directory = TaskDirectory.open(path)
    given = directory.description
    lesson = _lesson(given.task, given.model, given.search)
    model = lesson.build()
    fill(model, directory.parameters(), origin=str(directory.path))
    return lesson, model.eval()


def _lesson(task: TaskSettings, model: TaskModelSettings, search: SearchSettings, seed: int = 1) -> TaskLesson:
    match task:
        case DocumentsSettings():
            return DocumentsLesson(task, model, search, seed)
