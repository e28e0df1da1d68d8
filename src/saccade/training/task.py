"""What is learned, from what, and how well: all that training, the commands and the viewers know of a task."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray
from torch import nn

from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.trace.trace import AttentionTrace
from saccade.training.learner import Learner
from saccade.training.reporter import Reporter

Parameters = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Validation:
    """The figures of one validation."""

    update: int
    loss: float
    """Per target, such as a target token, in nats, without label smoothing."""
    quality: float
    """What the task is judged by; higher is better."""
    sample: tuple[str, str]
    """An input and what became of it, to look at."""
    measure: str = "BLEU"
    """What `quality` is, in a word or two."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The quality of each part of the data, such as a direction, where there are several; `quality` is their mean."""

    def worth(self, best_by: str) -> float:
        """What makes this the best so far; higher is better."""
        return -self.loss if best_by == "loss" else self.quality

    @property
    def logged(self) -> dict[str, Any]:
        """For metrics.jsonl."""
        measure = f"valid_{self.measure.lower().replace(' ', '_')}"
        parts = {f"{measure} {name}": round(quality, 3) for name, quality in self.parts.items()}
        return {"valid_loss": round(self.loss, 5), measure: round(self.quality, 3), **parts}

    @property
    def figures(self) -> str:
        """For people, with an exact loss where the perplexity would round to 1."""
        perplexity = math.exp(min(self.loss, 100.0))
        spread = f"perplexity {perplexity:.2f}" if self.loss >= 0.05 else f"loss {self.loss:.4f}"
        parts = ", ".join(f"{name} {quality:.2f}" for name, quality in self.parts.items())
        return f"{self.measure} {self.quality:.2f}{f' ({parts})' if parts else ''}, {spread}"


@runtime_checkable  # so that the shape checks of the tests can look at it
class Learnable(Protocol):
    """What updates need of a task: a model, its loss and batches."""

    @property
    def digest(self) -> str:
        """Tells the data apart from any other, so that a run never resumes with other data."""

    @property
    def d_model(self) -> int:
        """Size of the model's states, which the paper's learning rate depends on."""

    def build(self) -> nn.Module:
        """A new model with random parameters, drawn from torch's global generator."""

    def learner(self, model: nn.Module) -> Learner:
        """The model with its loss."""

    def is_divisible(self, model: nn.Module) -> bool:
        """Whether threads may learn from parts of a batch: it has `parts`, and nothing is drawn from torch."""

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """The batches of one of `world` processes, without end, from a position on."""


@runtime_checkable
class Task(Learnable, Protocol):
    """One task with its data, in one process of perhaps several."""

    def prepare(self, reporter: Reporter) -> None:
        """Make what is learned from, where that takes time, unless it is there; the reporter hears of it."""

    @property
    def batches_per_epoch(self) -> int | None:
        """How many batches the data is cut into; None where it is generated and never repeats."""

    def place(self, row: int) -> str:
        """Where an example of a batch comes from, such as a line of a file."""

    def validate(self, model: nn.Module, update: int) -> Validation:
        """How good a model is on data that it does not learn from."""

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """The figures of a finished model, on data that was used neither for training nor for choosing it."""

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the model attends to, for an input written as text, or for an example."""

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write a model directory, replacing one that was there; the story is for its card."""
