"""From scores to weights. What is masked gets none; where all is masked there are zeros, and finite gradients."""

from collections.abc import Callable

import torch
from entmax import entmax15, sparsemax
from jaxtyping import Bool, Float
from torch import Tensor

Scores = Float[Tensor, "*positions key"]
Counted = Bool[Tensor, "..."]
Normalise = Callable[[Tensor, Tensor | None], Tensor]
"""From scores, and a mask of those that count, to weights over the last axis."""


def masked_softmax(scores: Scores, mask: Counted | None) -> Scores:
    """Softmax: every key that may be attended gets some weight."""
    if mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number, not -inf: a row of -inf would be NaN in the softmax and in its gradient.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)


def masked_sparsemax(scores: Scores, mask: Counted | None) -> Scores:
    """Sparsemax (Martins & Astudillo 2016): the nearest point of the simplex, so most keys get exactly zero."""
    return _masked(sparsemax, scores, mask)


def masked_entmax(scores: Scores, mask: Counted | None) -> Scores:
    """1.5-entmax (Peters et al. 2019), half way between the two."""
    return _masked(entmax15, scores, mask)


def _masked(normalise: Callable[..., Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    """A score of -inf counts as masked. One that is no number, or too large for one, is not hidden: its row is NaN, as
    that of a softmax would be, where entmax itself would fail with an index that is out of bounds.
    """
    real = scores != -torch.inf if mask is None else mask & (scores != -torch.inf)
    broken = ~scores.isfinite() & real
    filled = scores.masked_fill(~real | broken, torch.finfo(scores.dtype).min)
    weights = normalise(filled, dim=-1).masked_fill(~real, 0.0)
    return weights.masked_fill(broken.any(dim=-1, keepdim=True), torch.nan)
