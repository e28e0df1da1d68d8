"""What is to be searched for: a model, the memory it decodes from, and what bounds every hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.protocol import Decodes, LogProbs, Memory, State
from saccade.search.constraints import FREE, Constraints


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProblem(Generic[Memory, State]):
    """A batch of sentences, as every search takes it; how it is searched is in `SearchSettings`."""

    model: Decodes[Memory, State]
    memory: Memory
    limits: Int[Tensor, " batch"]
    """The most tokens of each sentence's hypotheses, their end included; on the model's device."""
    bos: int  # the id that every hypothesis begins after
    eos: int  # the id that ends a hypothesis
    banned: Sequence[int] = ()  # ids that no hypothesis has
    constraints: Sequence[Constraints] = ()
    """Those of each sentence; none at all if every sentence is free."""
    names: Sequence[str] = ()
    """Sampling draws alike for sentences of the same name; without names, a sentence is named by its number."""

    def __post_init__(self) -> None:
        assert self.eos not in self.banned, "every hypothesis would run to its limit"
        assert all(len(given) in (0, len(self.limits)) for given in (self.constraints, self.names))

    def __len__(self) -> int:
        return len(self.limits)

    @property
    def device(self) -> torch.device:
        return self.limits.device

    @property
    def banned_ids(self) -> Int[Tensor, " banned"]:
        """`banned` as a tensor on the model's device."""
        return torch.tensor(self.banned, dtype=torch.long, device=self.device)

    def constraints_of(self, sentence: int) -> Constraints:
        """What a hypothesis of this sentence must satisfy."""
        return self.constraints[sentence] if self.constraints else FREE

    def name_of(self, sentence: int) -> str:
        """What makes the draws of this sentence its own."""
        return self.names[sentence] if self.names else str(sentence)

    def select(self, sentences: Sequence[int]) -> "SearchProblem[Any, Any]":
        """The problem of these sentences, each as often as it is listed. The source is still encoded once."""
        if list(sentences) == list(range(len(self))):
            return self
        rows = torch.tensor(sentences, device=self.device)
        return replace(
            self,
            model=SelectedRows(self.model, rows),
            limits=self.limits[rows],
            constraints=[self.constraints[sentence] for sentence in sentences] if self.constraints else (),
            names=[self.name_of(sentence) for sentence in sentences],
        )

    def repeat(self, times: int) -> "SearchProblem[Any, Any]":
        """Each sentence `times` times, side by side."""
        return self.select([sentence for sentence in range(len(self)) for _ in range(times)])

    def with_room_for_prefixes(self) -> "SearchProblem[Any, Any]":
        """The same with limits that never cut off a prefix."""
        if not any(constraints.prefix for constraints in self.constraints):
            return self
        lengths = [len(constraints.prefix) + 1 for constraints in self.constraints]
        return replace(self, limits=torch.maximum(self.limits, self.limits.new_tensor(lengths)))


@dataclass(frozen=True, slots=True)
class SelectedRows(Generic[Memory, State]):
    """A model whose first state has these rows instead of one for each sentence of its memory."""

    model: Decodes[Memory, State]
    sentences: Int[Tensor, " rows"]

    def start(self, memory: Memory) -> State:
        return self.model.pick(self.model.start(memory), self.sentences)

    def step(self, last: Int[Tensor, " rows"], state: State) -> tuple[LogProbs, State]:
        return self.model.step(last, state)

    def pick(self, state: State, rows: Int[Tensor, " picked"]) -> State:
        return self.model.pick(state, rows)
