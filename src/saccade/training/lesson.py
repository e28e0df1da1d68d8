"""What is learned, from what, and how well it has been: all that the training loop knows of its data."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.data.loader import Loaded
from saccade.data.sampler import Position

Parameters = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Validation:
    """The figures of one validation."""

    update: int
    loss: float
    """Of each thing to be said, a target token say, in nats, without label smoothing."""
    quality: float
    """What the lesson is judged by; higher is better."""
    sample: tuple[str, str]
    """An input and what became of it, to look at."""
    measure: str = "BLEU"
    """What `quality` is, in a word or two."""

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 100.0))

    def worth(self, best_by: str) -> float:
        """What makes this the best so far; higher is better."""
        return -self.loss if best_by == "loss" else self.quality

    @property
    def logged(self) -> dict[str, Any]:
        """For metrics.jsonl."""
        measure = f"valid_{self.measure.lower().replace(' ', '_')}"
        return {"valid_loss": round(self.loss, 5), measure: round(self.quality, 3)}

    @property
    def figures(self) -> str:
        """For people, with an exact loss where the perplexity would round to 1."""
        told = f"perplexity {self.perplexity:.2f}" if self.loss >= 0.05 else f"loss {self.loss:.4f}"
        return f"{self.measure} {self.quality:.2f}, {told}"


@runtime_checkable  # so that the shape checks of the tests can look at it
class Learning(Protocol):
    """A model with its loss: an nn.Module whose forward pass gives the loss to be differentiated, and the one to be
    reported; both are sums over the batch's targets.
    """

    baseline: float | None
    """What rewards of choices by chance are held against; None where nothing is left to chance."""

    def __call__(self, batch: Any) -> tuple[Tensor, Tensor]: ...


@runtime_checkable
class Lesson(Protocol):
    """One task with its data, in one process of perhaps several."""

    @property
    def digest(self) -> str:
        """Tells what is learned from apart from anything else, so that a run never goes on with other data."""
        ...

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the data is cut into; generated data has none to come round again, and says 1."""
        ...

    def build(self) -> nn.Module:
        """A new model with random parameters, drawn from torch's global generator."""
        ...

    def learner(self, model: nn.Module) -> Any:
        """The model with its loss: a `Learning` that is an nn.Module."""
        ...

    def is_divisible(self, model: nn.Module) -> bool:
        """Whether threads may learn from parts of a batch: it has `parts`, and nothing is drawn from torch."""
        ...

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """The batches of one of `world` processes, without end, from a position on."""
        ...

    def place(self, row: int) -> str:
        """Where an example of a batch comes from, such as a line of a file."""
        ...

    def validate(self, model: nn.Module, update: int) -> Validation:
        """How good a model is on data that it does not learn from."""
        ...

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write a model directory, in place of one that was there; the story is for its card."""
        ...
