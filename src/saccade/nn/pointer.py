"""Pointer networks (Vinyals et al. 2015): the output is a position of the input, so the scores are the logits."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from saccade.nn.attention import Memory, real_keys
from saccade.nn.capture import listener
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import Additive


class PointerScores(nn.Module):
    """vᵀtanh(W₁e + W₂d) over the positions of the input (§2.3). Nothing is read: there is no context."""

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.score = Additive(d_query, d_key, d_hidden)

    def memory(
        self, states: Float[Tensor, "batch key d_states"], mask: Bool[Tensor, "batch key"] | None = None
    ) -> Memory:
        """What these states offer to be pointed at; prepared once, however often it is asked."""
        return Memory(self.score.keys(states), states, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query d_query"],
        memory: Memory,
        taken: Bool[Tensor, "batch query key"] | None = None,
    ) -> Float[Tensor, "batch query key"]:
        """The logits of every position: -inf where it is masked or, by `taken`, has been pointed at before.

        Where nothing is left to point at, all are the lowest finite number: their log_softmax is finite, without
        gradient, and next to the logit of any other choice they count for nothing.
        """
        scores: Tensor = self.score(query, memory.keys)
        free = real_keys(memory)[:, None]
        if taken is not None:
            free = free & ~taken
        if heard := listener():
            heard.hear(self, masked_softmax(scores, free)[:, None])  # one head
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(~free, -torch.inf).masked_fill(~free.any(dim=-1, keepdim=True), lowest)
