"""From settings to a lesson: the one place that knows every task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import nn

from saccade.data.tasks.documents_settings import DocumentsSettings
from saccade.data.tasks.episodes_settings import (
    CopySettings,
    NgramsSettings,
    PrioritySortSettings,
    RecallSettings,
    RepeatCopySettings,
)
from saccade.data.tasks.facets_settings import FacetsSettings
from saccade.data.tasks.glyphs_settings import GlyphsSettings
from saccade.data.tasks.scenes_settings import ScenesSettings
from saccade.directory import TaskDirectory
from saccade.engines.torch import fill
from saccade.lessons.documents import DocumentsLesson
from saccade.lessons.episodes import EpisodesLesson
from saccade.lessons.facets import FacetsLesson
from saccade.lessons.glyphs import GlyphsLesson
from saccade.lessons.scenes import ScenesLesson
from saccade.recipe import TaskRecipe, TaskSettings
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


def _lesson(task: TaskSettings, model: Any, search: SearchSettings, seed: int = 1) -> TaskLesson:
    """Recipe and description have checked that the model is of a kind that learns the task."""
    match task:
        case DocumentsSettings():
            return DocumentsLesson(task, model, search, seed)
        case ScenesSettings():
            return ScenesLesson(task, model, search, seed)
        case GlyphsSettings():
            return GlyphsLesson(task, model, search, seed)
        case FacetsSettings():
            return FacetsLesson(task, model, search, seed)
        case CopySettings() | RepeatCopySettings() | RecallSettings() | PrioritySortSettings() | NgramsSettings():
            return EpisodesLesson(task, model, search, seed)
