"""Several models that say every token together: a search sees them as one."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.protocol import Decodes, LogProbs

Each = tuple[Any, ...]
"""Something of each member, in their order: its memory, or its state."""


class Ensemble:
    """Keeps `Decodes`, as its members do, which share a target vocabulary: a token is as likely as in their mean."""

    def __init__(self, members: Sequence[Decodes[Any, Any]]) -> None:
        assert members, "nobody would say anything"
        self.members = tuple(members)

    def start(self, memory: Each) -> Each:
        """Of the memories of all members, the states before the first token."""
        return tuple(member.start(own) for member, own in zip(self.members, memory, strict=True))

    def step(self, last: Int[Tensor, " rows"], state: Each) -> tuple[LogProbs, Each]:
        """Every member reads the last token; what may follow is their mean."""
        said = [member.step(last, own) for member, own in zip(self.members, state, strict=True)]
        return log_mean([log_probs for log_probs, _ in said]), tuple(after for _, after in said)

    def pick(self, state: Each, rows: Int[Tensor, " picked"]) -> Each:
        """The states of these rows, in this order."""
        return tuple(member.pick(own, rows) for member, own in zip(self.members, state, strict=True))


def log_mean(log_probs: Sequence[Float[Tensor, "*positions vocab"]]) -> Float[Tensor, "*positions vocab"]:
    """The logarithm of the mean of probabilities; of one alone, itself."""
    return torch.stack(list(log_probs)).logsumexp(dim=0) - math.log(len(log_probs))
