"""Scaled dot-product attention, twice: written out with its weights, and fused. Both give the same numbers."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import dropout as drop
from torch.nn.functional import scaled_dot_product_attention

from saccade.nn.masks import causal_mask


@dataclass(frozen=True, slots=True)
class Memory:
    """What can be attended to: keys to be found by, values to be read, and which of them are real."""

    keys: Float[Tensor, "batch *heads key d_key"]
    values: Float[Tensor, "batch *heads key d_value"]
    mask: Bool[Tensor, "batch key"] | None = None
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


class Attended(NamedTuple):
    """The mixture that was read, and the weights it was mixed with."""

    context: Float[Tensor, "batch heads query d_value"]
    weights: Float[Tensor, "batch heads query key"]


def masked_softmax(
    scores: Float[Tensor, "*positions key"], mask: Bool[Tensor, "..."] | None
) -> Float[Tensor, "*positions key"]:
    """Softmax over the keys that may be attended. A row with none of them gets zero weights, and finite gradients."""
    if mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number, not -inf: a row of -inf would be NaN in the softmax and in its gradient.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)


def attend(
    query: Float[Tensor, "batch heads query d_key"],
    memory: Memory,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Attended:
    """softmax(QKᵀ/√d_k)V (Vaswani et al. 2017, eq. 1), one operation a line: the readable twin of `attend_fused`."""
    scores = query @ memory.keys.mT / math.sqrt(query.shape[-1])
    weights = masked_softmax(scores, allowed(query, memory, causal))
    return Attended(drop(weights, dropout) @ memory.values, weights)


def attend_fused(
    query: Float[Tensor, "batch heads query d_key"],
    memory: Memory,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "batch heads query d_value"]:
    """The context of `attend` in one kernel, which never writes the weights down."""
    whole = causal and memory.mask is None and query.shape[-2] == memory.keys.shape[-2]
    return scaled_dot_product_attention(
        query,
        memory.keys,
        memory.values,
        attn_mask=None if whole else allowed(query, memory, causal),
        dropout_p=dropout,
        is_causal=whole,
    )


def allowed(
    query: Float[Tensor, "batch heads query d_key"], memory: Memory, causal: bool
) -> Bool[Tensor, "..."] | None:
    """Which keys each query may attend to, shaped to meet the scores."""
    mask = None if memory.mask is None else memory.mask[:, None, None, :]
    if not causal or query.shape[-2] == 1:  # a single query comes last, and may see every key
        return mask
    past = causal_mask(query.shape[-2], memory.keys.shape[-2], query.device)
    return past if mask is None else mask & past
