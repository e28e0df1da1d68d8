"""Attention: score, mask, normalise, read. Inner products exist twice, written out with their weights and fused; both
give the same numbers.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from saccade.nn.axes import HeadQueries, KeyStates, Mask, Query, QueryByKey
from saccade.nn.capture import AttentionModule, Kind, active_capture
from saccade.nn.dropout import drop
from saccade.nn.masks import causal_mask
from saccade.nn.normalise import Normalise, masked_softmax
from saccade.nn.scores import InnerProduct, Score
from saccade.nn.windows import Windows


@runtime_checkable  # so that the shape checks of the tests can look at it
class Picks(Protocol):
    """What decoding carries from step to step."""

    def pick(self, rows: Tensor) -> Any:
        """That of these rows, in this order."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What can be attended to: keys to be found by, values to be read, and which of them are real."""

    keys: Float[Tensor, "batch *heads key d_key"]
    values: Float[Tensor, "batch *heads key d_value"]
    mask: Mask | None = None
    """True = may be attended; None = all may."""

    def append(self, new: "Memory") -> "Memory":
        """This memory followed by another; neither may be masked."""
        assert self.mask is None
        assert new.mask is None
        return Memory(
            torch.cat([self.keys, new.keys], dim=-2),
            torch.cat([self.values, new.values], dim=-2),
        )

    def pick(self, rows: Int[Tensor, " picked"]) -> "Memory":
        """The memory of these rows of the batch, in this order."""
        keys = self.keys.index_select(0, rows)
        values = keys if self.values is self.keys else self.values.index_select(0, rows)
        return Memory(keys, values, None if self.mask is None else self.mask.index_select(0, rows))

    def repeat(self, times: int) -> "Memory":
        """Each row of the batch so many times, one after another."""
        return self.pick(torch.arange(len(self.keys), device=self.keys.device).repeat_interleave(times))


class Attended(NamedTuple):
    """The mixture that was read, and the weights it was mixed with."""

    context: Float[Tensor, "batch *heads query d_value"]
    weights: Float[Tensor, "batch *heads query key"]


class Read(NamedTuple):
    """What a decoder reads of its source."""

    context: Float[Tensor, "batch query d_value"]
    log_prob: Float[Tensor, "batch query"] | None = None
    """Of the positions, where they were chosen by chance."""
    entropy: Float[Tensor, "batch query"] | None = None
    """Of the distribution they were chosen from."""
    weights: QueryByKey | None = None
    """Of each position, or its probability of being chosen; None where the fused path has not written them down."""


def attend(query: HeadQueries, memory: Memory, *, causal: bool = False, dropout: float = 0.0) -> Attended:
    """softmax(QKᵀ/√d_k)V (Vaswani et al. 2017, eq. 1), one operation a line: the readable twin of `attend_fused`."""
    scores = query @ memory.keys.mT / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, allowed(query, memory, causal))
    return Attended(drop(weights, dropout) @ memory.values, weights)


def attend_fused(
    query: HeadQueries, memory: Memory, *, causal: bool = False, dropout: float = 0.0, scale: float | None = None
) -> Float[Tensor, "batch heads query d_value"]:
    """The context of `attend` in one kernel, which never writes the weights down. `scale` is 1/√d_k unless given."""
    whole = causal and memory.mask is None and query.shape[-2] == memory.keys.shape[-2]
    return scaled_dot_product_attention(
        query,
        memory.keys,
        memory.values,
        attn_mask=None if whole else allowed(query, memory, causal),
        dropout_p=dropout,
        is_causal=whole,
        scale=scale,
    )


def allowed(query: HeadQueries, memory: Memory, causal: bool) -> Bool[Tensor, "..."] | None:
    """Which keys each query may attend to, shaped to meet the scores."""
    mask = None if memory.mask is None else memory.mask[:, None, None, :]
    if not causal or query.shape[-2] == 1:  # a single query comes last, and may see every key
        return mask
    past = causal_mask(query.shape[-2], memory.keys.shape[-2], query.device)
    return past if mask is None else mask & past


class Attention(AttentionModule):
    """Attention of one head with any score, over all keys or through windows: score, mask, normalise, gain, read."""

    def __init__(
        self,
        score: Score,
        *,
        normalise: Normalise = masked_softmax,
        windows: Windows | None = None,
        kind: Kind | None = None,
    ) -> None:
        super().__init__()
        self.kind, self.score, self.normalise, self.windows = kind, score, normalise, windows

    def memory(self, states: KeyStates, mask: Mask | None = None) -> Memory:
        """What these states offer to be attended to: keys prepared once, and they themselves to be read."""
        return Memory(self.score.keys(states), states, mask)

    def forward(self, query: Query, memory: Memory, start: int = 0) -> Read:
        """Ask the memory. The first query stands at position `start` of the target, which windows may want to know."""
        captured, is_plain = active_capture(), self.normalise is masked_softmax and self.windows is None
        if is_plain and isinstance(self.score, InnerProduct) and not captured:
            return Read(self._fused(self.score, query, memory))
        context, weights = self.attend(query, memory, start)
        if captured:
            captured.record(self, weights[:, None])  # one head
        return Read(context, weights=weights)

    def attend(self, query: Query, memory: Memory, start: int = 0) -> Attended:
        """The context and its weights, one operation a line: the twin of the fused path."""
        scores = self.score(query, memory.keys)
        mask, gain = real_keys(memory)[:, None], None
        if self.windows is not None:
            within, gain = self.windows(query, real_keys(memory), start)
            mask = mask & within
        weights = self.normalise(scores, mask)
        if gain is not None:
            weights = weights * gain
        return Attended(weights @ memory.values, weights)

    def _fused(self, score: InnerProduct, query: Tensor, memory: Memory) -> Tensor:
        in_one_head = Memory(memory.keys[:, None], memory.values[:, None], memory.mask)
        return attend_fused(score.queries(query)[:, None], in_one_head, scale=score.scale)[:, 0]


def real_keys(memory: Memory) -> Mask:
    """The mask of a memory, all True where it has none."""
    if memory.mask is not None:
        return memory.mask
    return torch.ones(memory.values.shape[0], memory.values.shape[-2], dtype=torch.bool, device=memory.values.device)
