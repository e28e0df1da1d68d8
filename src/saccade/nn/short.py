"""Attention over few keys, learned on a CPU: all heads of a batch in a handful of products, with the gradient by hand.

torch's fused kernel computes the last keys that do not fill a vector one by one: on one core, 2,000 tokens in sentences
of 14 take it 5 ms, forward and back, those in sentences of 16 only 3 ms, and what is here takes 3 ms for both. For more
keys it is no faster. Its twin is `attend`.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.nn.attention import Memory, allowed
from saccade.nn.axes import HeadQueries
from saccade.nn.dropout import keep, rescaled

WIDTH = 16
"""Floats that AVX-512 computes at once. Keys are padded to as many: torch's softmax of 15 takes ten times as long."""


def is_short(query: HeadQueries, memory: Memory) -> bool:
    """Whether `attend_short` may and should be used: few keys, on a CPU, with a gradient, each row with a real key."""
    return (
        not torch.compiler.is_compiling()  # first, as compiled code must not depend on sizes
        and memory.keys.shape[-2] <= WIDTH
        and query.requires_grad
        and torch.is_grad_enabled()
        and query.device.type == "cpu"
        and query.dtype in (torch.float32, torch.float64)
        and (memory.mask is None or bool(memory.mask.any(dim=1).all()))
    )


def attend_short(
    query: HeadQueries, memory: Memory, *, causal: bool = False, dropout: float = 0.0
) -> Float[Tensor, "batch heads query d_value"]:
    """The context of `attend`, where `is_short`."""
    mask = allowed(query, memory, causal)
    shape = (1,) if mask is None else mask.shape[:-1]
    hidden = query.new_full((*shape, WIDTH), -math.inf)
    real = hidden[..., : memory.keys.shape[-2]]
    real.masked_fill_(torch.ones_like(real, dtype=torch.bool) if mask is None else mask, 0)
    context: Tensor = _Short.apply(query, memory.keys, memory.values, hidden, dropout)  # type: ignore[no-untyped-call]
    return context


class _Short(torch.autograd.Function):
    """With weights P = softmax(S), the gradient of the scores is P ∘ (∂P - Σ ∂P ∘ P), the sum over keys."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, values: Tensor, hidden: Tensor, dropout: float) -> Tensor:
        (batch, heads, length, d), num_keys = query.shape, keys.shape[-2]
        queries, keys, values = _stacked(query, length), _stacked(keys, WIDTH), _stacked(values, WIDTH)
        weights = query.new_empty(batch, heads, length, WIDTH).copy_(hidden).view(-1, length, WIDTH)
        weights.baddbmm_(queries, keys.mT, alpha=1 / math.sqrt(d))
        torch.softmax(weights, dim=-1, out=weights)
        kept = keep(weights, dropout) if dropout else None
        ctx.save_for_backward(queries, keys, values, weights, kept)
        ctx.dropout, ctx.num_heads, ctx.lengths = dropout, heads, (length, num_keys, num_keys)
        return _unstacked(_dropped(weights, kept, dropout) @ values, heads, length)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights, kept = ctx.saved_tensors
        length, d = queries.shape[1:]
        gradient = _stacked(gradient, length)
        to_values = _dropped(weights, kept, ctx.dropout).mT @ gradient
        to_weights = _dropped(gradient @ values.mT, kept, ctx.dropout)
        to_scores = to_weights.sub_((to_weights * weights).sum(dim=-1, keepdim=True)).mul_(weights).div_(math.sqrt(d))
        gradients = to_scores @ keys, to_scores.mT @ queries, to_values
        found = (_unstacked(each, ctx.num_heads, own) for each, own in zip(gradients, ctx.lengths, strict=True))
        return (*found, None, None)


def _stacked(states: Tensor, width: int) -> Tensor:
    """All heads of all rows below each other, each sequence of this width: zeros follow."""
    batch, heads, length, d = states.shape
    stacked = states.new_empty(batch, heads, width, d)
    stacked[:, :, :length].copy_(states)
    stacked[:, :, length:].zero_()
    return stacked.view(-1, width, d)


def _unstacked(stacked: Tensor, heads: int, length: int) -> Tensor:
    """Back again, where heads of a position lie side by side in memory, as the next product wants them."""
    _, width, d = stacked.shape
    states = stacked.view(-1, heads, width, d)[:, :, :length]
    return states.transpose(1, 2).contiguous().transpose(1, 2)


def _dropped(weights: Tensor, kept: Tensor | None, rate: float) -> Tensor:
    return weights if kept is None else rescaled(weights, kept, rate)
