"""Masks are boolean and positive: True = may be attended."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade.nn.axes import Mask


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """True where the key stands at or before the query; the last query may see every key."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def mean_of(states: Float[Tensor, "batch key d_value"], mask: Mask | None) -> Float[Tensor, "batch d_value"]:
    """Over the keys that count; zero where there is none."""
    if mask is None:
        return states.mean(dim=1)
    return (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
