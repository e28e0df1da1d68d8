"""A finished model together with the task that it has learned."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from saccade.directory import ModelDirectory
from saccade.models.fill import fill
from saccade.tasks.build import open_task, recipe_classes
from saccade.trace.trace import AttentionTrace
from saccade.training.task import Task


@dataclass(frozen=True, slots=True)
class TaskModel:
    """What can be asked of a model of any task other than translation, which has its own `Translator`."""

    directory: ModelDirectory
    task: Task
    model: nn.Module

    @classmethod
    def open(cls, directory: ModelDirectory) -> "TaskModel":
        """The model of a directory, ready to be asked."""
        given = directory.description
        recipe_class = recipe_classes()[given.task.kind]
        searches: dict[str, Any] = {"search": given.search} if "search" in recipe_class.__dataclass_fields__ else {}
        recipe = recipe_class(run=directory.path, task=given.task, model=given.model, **searches)
        task = open_task(recipe, directory.own_tokenizers)
        model = task.build()
        fill(model, directory.parameters(), origin=str(directory.path))
        return cls(directory, task, model.eval())

    def evaluate(self) -> Mapping[str, float]:
        """The figures of the model, on data that was used neither for training nor for choosing it."""
        return self.task.evaluate(self.model)

    def show(self, text: str | None = None) -> list[AttentionTrace]:
        """What the model attends to, for an input written as text, or for an example of the task."""
        return self.task.show(self.model, text)
