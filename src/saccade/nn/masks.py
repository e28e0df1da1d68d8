"""Masks are boolean and positive: True = may be attended."""

import torch
from jaxtyping import Bool
from torch import Tensor


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """True where the key stands at or before the query; the last query may see every key."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
