"""Lessons whose data is generated: batch n is a pure function of the seed and n, so any of them can be gone back to."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from saccade import settings
from saccade.data.loader import Loaded, Targets
from saccade.data.sampler import Position
from saccade.directory import TaskDescription, save_task
from saccade.nn.mode import evaluation_mode
from saccade.recipe import TaskModelSettings, TaskSettings
from saccade.search.settings import SearchSettings
from saccade.trace.trace import AttentionTrace
from saccade.training.lesson import Parameters, Validation

TRAIN, VALID, TEST = range(3)
"""Streams of random numbers that never meet."""
Task = TypeVar("Task", bound=TaskSettings)
Kind = TypeVar("Kind", bound=TaskModelSettings)
Drawn = TypeVar("Drawn", bound=Targets)


class Generated(ABC, Generic[Task, Kind, Drawn]):
    """A task, and the model that is to learn it."""

    measure: ClassVar[str]
    """What the lesson is judged by, in a word or two."""
    num_valid: ClassVar[int] = 4
    """Batches that a validation looks at."""
    num_test: ClassVar[int] = 8
    """Batches that an evaluation looks at."""

    def __init__(self, task: Task, model: Kind, search: SearchSettings, seed: int = 1) -> None:
        self.task, self.model, self.search, self.seed = task, model, search, seed

    # What each task has of its own

    @abstractmethod
    def build(self) -> nn.Module:
        """A new model."""

    @abstractmethod
    def draw(self, random: np.random.Generator, count: int) -> Drawn:
        """So many examples."""

    @abstractmethod
    def learner(self, model: nn.Module) -> nn.Module:
        """The model with its loss."""

    @abstractmethod
    def quality(self, model: nn.Module, batch: Drawn) -> float:
        """What the lesson is judged by, as a mean over a batch."""

    @abstractmethod
    def sample(self, model: nn.Module, batch: Drawn) -> tuple[str, str]:
        """An example of a batch and what the model makes of it, for people."""

    @abstractmethod
    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the model attends to, for an input written as text, or for an example."""

    # What all have in common

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """The figures of a finished model, on data that nobody has seen."""
        batches = list(self.fixed(TEST, self.num_test))
        with evaluating(model):
            loss = self._loss(model, batches)
            return {"loss": loss, self.measure: float(np.mean([self.quality(model, batch) for batch in batches]))}

    @property
    def digest(self) -> str:
        """That of the task's settings and the seed."""
        told = json.dumps([settings.table(self.task), self.seed], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def batches_per_epoch(self) -> int:
        """Nothing comes round again."""
        return 1

    def is_divisible(self, model: nn.Module) -> bool:
        """Batches of tasks are small."""
        return False

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """Without end, from a position on; each of several processes has every so manyth."""
        for first in count(start.batch, world):
            number = first + rank
            yield Loaded(Position(0, first + world), np.array([number]), self._batch(TRAIN, number))

    def fixed(self, stream: int, number: int) -> Iterator[Drawn]:
        """The first batches of another stream, always the same."""
        return (self._batch(stream, each) for each in range(number))

    def place(self, row: int) -> str:
        """Which batch."""
        return f"batch {row}"

    def validate(self, model: nn.Module, update: int) -> Validation:
        """Loss and quality on the first batches of a stream that training never sees."""
        batches = list(self.fixed(VALID, self.num_valid))
        with evaluating(model):
            return Validation(
                update=update,
                loss=self._loss(model, batches),
                quality=float(np.mean([self.quality(model, batch) for batch in batches])),
                sample=self.sample(model, batches[update % len(batches)]),
                measure=self.measure,
            )

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write the model directory."""
        description = TaskDescription(task=self.task, model=self.model, search=self.search)
        card = f"# {self.task.kind}, {self.model.kind}\n\n{story}\n\n## Data\n\nGenerated, with seed {self.seed}.\n"
        save_task(path, description, parameters, card)

    def _batch(self, stream: int, number: int) -> Drawn:
        return self.draw(np.random.default_rng((self.seed, stream, number)), self.task.batch)

    def _loss(self, model: nn.Module, batches: list[Drawn]) -> float:
        learner = self.learner(model)
        reported = sum(float(learner(batch)[1]) for batch in batches)
        return reported / sum(batch.num_targets for batch in batches)


class Guesses(nn.Module):
    """A model that names one of several classes for each example, with its loss."""

    baseline: float | None = None

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
        loss = nn.functional.cross_entropy(self.model(batch), batch.label, reduction="sum")
        return loss, loss.detach()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch off dropout and gradients for a while."""
    with evaluation_mode(model), torch.inference_mode():
        yield
