"""Pointer networks (Vinyals et al. 2015): the output is a position of the input, so the scores are the logits."""

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from saccade.errors import DataError
from saccade.nn.attention import Attention, Memory, real_keys
from saccade.nn.axes import KeyStates, Mask, Query, QueryByKey
from saccade.nn.capture import AttentionModule, active_capture
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import Additive


class PointerScores(AttentionModule):
    """vᵀtanh(W₁e + W₂d) over the positions of the input (§2.3). Nothing is read: there is no context."""

    kind = "cross"

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.score = Additive(d_query, d_key, d_hidden)

    def memory(self, states: KeyStates, mask: Mask | None = None) -> Memory:
        return Memory(self.score.keys(states), states, mask)

    def forward(self, query: Query, memory: Memory, taken: Bool[Tensor, "batch query key"] | None = None) -> QueryByKey:
        """The logits of every position: -inf where it is masked or, by `taken`, has been pointed at before.

        Where nothing is left to point at, all are the lowest finite number: their log_softmax is finite, without
        gradient, and next to the logit of any other choice they count for nothing.
        """
        scores: Tensor = self.score(query, memory.keys)
        free = _free(memory, taken)
        if captured := active_capture():
            captured.record(self, masked_softmax(scores, free)[:, None])  # one head
        return _masked(scores, free)


class IndexScores(nn.Module):
    """What pointing is held against (§2.2): attention reads the keys, and a fixed output layer names one by its index.

    Its logits are masked as those of a pointer. What it has never been taught to name it cannot find.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int, num_positions: int) -> None:
        super().__init__()
        self.attention = Attention(Additive(d_query, d_key, d_hidden), kind="cross")
        self.output = nn.Linear(d_query + d_key, 1 + num_positions)

    def memory(self, states: KeyStates, mask: Mask | None = None) -> Memory:
        """What these states offer to be read, the stop first."""
        most, count = self.output.out_features - 1, states.shape[1] - 1
        if count > most:
            raise DataError(
                f"An index softmax has one output for each of {most} positions, but a set has {count} elements. Train "
                'with a larger model.num_positions, or with model.output = "pointer", which has no such bound.'
            )
        return self.attention.memory(states, mask)

    def forward(self, query: Query, memory: Memory, taken: Bool[Tensor, "batch query key"] | None = None) -> QueryByKey:
        """The logits of every key, as by `PointerScores`."""
        context = self.attention(query, memory).context
        scores: Tensor = self.output(torch.cat([query, context], dim=-1))
        return _masked(scores[..., : memory.keys.shape[1]], _free(memory, taken))


def _free(memory: Memory, taken: Bool[Tensor, "batch query key"] | None) -> Bool[Tensor, " batch #query key"]:
    """What can be pointed at."""
    real = real_keys(memory)[:, None]
    return real if taken is None else real & ~taken


def _masked(scores: QueryByKey, free: Bool[Tensor, " batch #query key"]) -> QueryByKey:
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~free, -torch.inf).masked_fill(~free.any(dim=-1, keepdim=True), lowest)
