"""Tasks whose data is generated: batch n is a pure function of the seed and n, so that any can be made again."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from torch import Tensor, nn

from saccade import settings
from saccade.data.batch import OnDevice
from saccade.data.loader import Loaded, Targets
from saccade.data.sampler import Position
from saccade.directory import Description, save
from saccade.errors import DataError
from saccade.nn.mode import evaluating
from saccade.recipe import HasKind
from saccade.search.settings import SearchSettings
from saccade.trace.trace import AttentionTrace
from saccade.training.learner import Learner
from saccade.training.reporter import Reporter
from saccade.training.task import Parameters, Validation

TRAIN, VALID, TEST = range(3)
"""Streams of random numbers that never meet."""
HELD_OUT_SEED = 1
"""Of what models are validated, tested and shown on: the same whatever `training.seed` is, also for a loaded model."""


@runtime_checkable  # so that the shape checks of the tests can look at it
class HasBatch(HasKind, Protocol):
    """Settings of a task whose data is generated."""

    @property
    def batch(self) -> int:
        """Examples of a batch."""
        ...


TaskSettings = TypeVar("TaskSettings", bound=HasBatch)
ModelSettings = TypeVar("ModelSettings", bound=HasKind)
Drawn = TypeVar("Drawn", bound=Targets)


class GeneratedTask(ABC, Generic[TaskSettings, ModelSettings, Drawn]):
    """A task, and the model that learns it. Keeps `Task` of training/task.py."""

    measure: ClassVar[str]
    """What the task is judged by, in a word or two."""
    num_valid: ClassVar[int] = 4
    """Batches that a validation looks at."""
    num_test: ClassVar[int] = 8
    """Batches that an evaluation looks at."""

    def __init__(
        self, task: TaskSettings, model: ModelSettings, search: SearchSettings | None = None, seed: int = 1
    ) -> None:
        self.task, self.model, self.search, self.seed = task, model, search or SearchSettings(), seed

    @classmethod
    def of(cls, recipe: Any, tokenizers: object = None) -> "GeneratedTask[TaskSettings, ModelSettings, Drawn]":
        """The task of a recipe; there are no tokenizers to take over."""
        return cls(recipe.task, recipe.model, getattr(recipe, "search", None), recipe.training.seed)

    # What each task has of its own

    @abstractmethod
    def build(self) -> nn.Module:
        """A new model."""

    @abstractmethod
    def draw(self, random: np.random.Generator, count: int) -> Drawn:
        """`count` examples."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Drawn) -> Tensor | tuple[Tensor, Tensor]:
        """The loss to be differentiated, and if it differs the one to be reported; sums over targets."""

    @abstractmethod
    def quality(self, model: nn.Module, batch: Drawn) -> float:
        """What the task is judged by, as a mean over a batch."""

    @abstractmethod
    def sample(self, model: nn.Module, batch: Drawn) -> tuple[str, str]:
        """An example of a batch and what the model makes of it, for people."""

    @abstractmethod
    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the model attends to, for an input written as text, or for an example."""

    # What all have in common

    def prepare(self, reporter: Reporter) -> None:
        """Nothing: the data is generated while it is learned from."""

    def learner(self, model: nn.Module) -> Learner:
        """The model with its loss."""
        return Learner(model, self.loss)

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """The figures of a finished model, on data that was used neither for training nor for choosing it."""
        loss, quality = self._figures(model, list(self.fixed(TEST, self.num_test)))
        return {"loss": loss, self.measure: quality}

    @property
    def digest(self) -> str:
        """That of the task's settings and the seed."""
        decisive = json.dumps([settings.table(self.task), self.seed], sort_keys=True, default=str)
        return hashlib.sha256(decisive.encode()).hexdigest()

    @property
    def batches_per_epoch(self) -> None:
        """No batch is repeated."""

    @property
    def d_model(self) -> int:
        """Size of the model's states."""
        size: int = self.model.d_model  # type: ignore[attr-defined]
        return size

    def is_divisible(self, model: nn.Module) -> bool:
        """Batches of tasks are small."""
        return False

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """Without end, from a position on; rank r takes every world-th batch."""
        for first in count(start.batch, world):
            number = first + rank
            yield Loaded(Position(0, first + world), np.array([number]), self._batch(TRAIN, number))

    def fixed(self, stream: int, number: int) -> Iterator[Drawn]:
        """The first batches of another stream, always the same."""
        return (self._batch(stream, index) for index in range(number))

    def random(self, stream: int, number: int = 0) -> np.random.Generator:
        """The random numbers of a batch."""
        return np.random.default_rng((self.seed if stream == TRAIN else HELD_OUT_SEED, stream, number))

    def example(self, number: int = 0) -> Drawn:
        """A batch of one example to be shown."""
        return self.draw(self.random(TEST, number), 1)

    def place(self, row: int) -> str:
        """Which batch."""
        return f"batch {row}"

    def validate(self, model: nn.Module, update: int) -> Validation:
        """Loss and quality on the first batches of a stream that training never sees."""
        batches = list(self.fixed(VALID, self.num_valid))
        loss, quality = self._figures(model, batches)
        with evaluating(model):
            sample = self.sample(model, batches[update % len(batches)])
        return Validation(update, loss, quality, sample, self.measure)

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write the model directory."""
        description = Description(task=self.task, model=self.model, search=self.search)
        card = f"# {self.task.kind}, {self.model.kind}\n\n{story}\n\n## Data\n\nGenerated, with seed {self.seed}.\n"
        save(path, description, None, parameters, card)

    def _batch(self, stream: int, number: int) -> Drawn:
        return self.draw(self.random(stream, number), self.task.batch)

    def _figures(self, model: nn.Module, batches: list[Drawn]) -> tuple[float, float]:
        """Loss per target, and quality."""
        learner = self.learner(model)
        with evaluating(model):
            reported = sum(float(learner(batch)[1]) for batch in batches)
            quality = float(np.mean([self.quality(model, batch) for batch in batches]))
        return reported / sum(batch.num_targets for batch in batches), quality


class Labelled(OnDevice):
    """Examples with labels, one or several each."""

    __slots__ = ()
    label: Tensor

    @property
    def num_targets(self) -> int:
        """How many labels there are."""
        return self.label.numel()


LabelledBatch = TypeVar("LabelledBatch", bound=Labelled)


class ClassificationTask(GeneratedTask[TaskSettings, ModelSettings, LabelledBatch]):
    """A model gives a logit to each class, for every label of an example."""

    measure = "accuracy"

    def logits(self, model: nn.Module, batch: LabelledBatch) -> Tensor:
        """Those of each label, over the classes."""
        logits: Tensor = model(batch)
        return logits

    def loss(self, model: nn.Module, batch: LabelledBatch) -> Tensor:
        """The cross-entropy of all labels."""
        logits = self.logits(model, batch).flatten(0, -2)
        return nn.functional.cross_entropy(logits, batch.label.flatten(), reduction="sum")

    def quality(self, model: nn.Module, batch: LabelledBatch) -> float:
        """The share of labels that are named rightly."""
        return float((self.logits(model, batch).argmax(dim=-1) == batch.label).double().mean())


def need_no_text(text: str | None, kind: str) -> None:
    """Refuse a text where only examples of the task can be shown."""
    if text is not None:
        raise DataError(f"A model of the task {kind} shows an example of its own, not {text!r}. Leave the text out.")


def read_number(text: str | None) -> int:
    """The number of an example that is asked for; the first unless one is."""
    if text is not None and not (text.isascii() and text.isdecimal()):
        raise DataError(f"A scene is chosen by its number, such as 7, not by {text!r}.")
    return int(text or 0)
