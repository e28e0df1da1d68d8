"""Hard attention (Xu et al. 2015, §4.1): one position is chosen, and read alone.

A choice has no gradient. Its log-probability has, and is handed out with the context, so that a loss can reward the
choices that were followed by good words (REINFORCE; see training/reinforce.py). Nothing is kept on the module.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from saccade.nn.attention import Memory, Read, real_keys
from saccade.nn.axes import Mask, Query, QueryByKey
from saccade.nn.capture import AttentionModule, Kind, active_capture
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import Score


@dataclass(frozen=True, slots=True)
class HardMemory(Memory):
    """A memory, and for which of its rows positions are chosen by chance."""

    samples: Bool[Tensor, " batch"] | None = None
    """None = nothing is left to chance: the likeliest position is read."""

    def pick(self, rows: Int[Tensor, " picked"]) -> "HardMemory":
        picked = Memory.pick(self, rows)
        samples = None if self.samples is None else self.samples.index_select(0, rows)
        return HardMemory(picked.keys, picked.values, picked.mask, samples)


class HardAttention(AttentionModule):
    """Samples a position for each query in training, and takes the likeliest one otherwise.

    With `sampling` below 1, some sources are read by expectation in training (the weighted mean, as soft attention
    does): the paper tosses a coin for each of them, which makes the gradient less noisy.
    """

    def __init__(self, score: Score, *, sampling: float = 0.5, kind: Kind | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.score = score
        self.sampling = sampling

    def memory(self, states: Float[Tensor, "batch key d_value"], mask: Mask | None = None) -> HardMemory:
        """What these states offer to be attended to; in training, with the toss of the coin for each source."""
        samples = torch.rand(len(states), device=states.device) < self.sampling if self.training else None
        return HardMemory(self.score.keys(states), states, mask, samples)

    def forward(self, query: Query, memory: HardMemory, start: int = 0) -> Read:
        """The context, and the log-probability, entropy and distribution of the choices."""
        mask = real_keys(memory)[:, None]
        distribution = masked_softmax(self.score(query, memory.keys), mask)
        # The logarithm of a weight of zero is never used, but its gradient must be finite.
        log_distribution = distribution.masked_fill(distribution == 0, 1.0).log()
        entropy = -(distribution * log_distribution).sum(dim=-1)

        chosen = one_hot(_places(distribution, memory.samples), distribution.shape[-1]).to(distribution) * mask
        if memory.samples is None:
            weights, log_prob = chosen, (chosen * log_distribution).sum(dim=-1)
        else:
            by_chance = memory.samples[:, None, None]
            weights = torch.where(by_chance, chosen, distribution)
            log_prob = (chosen * log_distribution * by_chance).sum(dim=-1)
        if captured := active_capture():
            captured.record(self, weights[:, None])  # one head
        return Read(weights @ memory.values, log_prob, entropy, distribution)


def _places(distribution: QueryByKey, samples: Bool[Tensor, " batch"] | None) -> Int[Tensor, "batch query"]:
    """Where each query's choice falls, likeliest or by chance. With nothing to choose from, anywhere."""
    if samples is None:
        return distribution.argmax(dim=-1)
    nothing = distribution.sum(dim=-1, keepdim=True) == 0  # multinomial would refuse
    return (distribution.detach() + nothing).flatten(0, 1).multinomial(1).view(distribution.shape[:-1])
