"""Every sentence several times over, for searches that write it in several ways at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.protocol import Decodes, Memory, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Repeated(Generic[Memory, State]):
    """A model whose first state has other rows than one for each sentence of its memory."""

    model: Decodes[Memory, State]
    sentences: Int[Tensor, " rows"]
    """The one that each row writes."""

    def start(self, memory: Memory) -> State:
        """The source is read once, whatever is made of it."""
        return self.model.pick(self.model.start(memory), self.sentences)

    def step(self, last: Int[Tensor, " rows"], state: State) -> tuple[Float[Tensor, "rows vocab"], State]:
        """What the model says may follow."""
        return self.model.step(last, state)

    def pick(self, state: State, rows: Int[Tensor, " picked"]) -> State:
        """The state of these rows, in this order."""
        return self.model.pick(state, rows)


def repeated(
    model: Decodes[Memory, State], limits: Int[Tensor, " batch"], sentences: Sequence[int]
) -> tuple[Decodes[Memory, State], Int[Tensor, " rows"]]:
    """The model with these sentences, each as often as it is named, and their limits."""
    if list(sentences) == list(range(len(limits))):
        return model, limits
    rows = torch.tensor(sentences, device=limits.device)
    return Repeated(model, rows), limits[rows]


def each(things: Iterable[T], times: int) -> list[T]:
    """Each of them so many times, side by side."""
    return [thing for thing in things for _ in range(times)]


def together(things: Sequence[T], times: int) -> list[Sequence[T]]:
    """The opposite: so many neighbours in each part."""
    return [things[start : start + times] for start in range(0, len(things), times)]
