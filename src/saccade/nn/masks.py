"""Masks are boolean and positive: True = may be attended."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def padding_mask(lengths: Int[Tensor, " batch"], positions: int) -> Bool[Tensor, "batch positions"]:
    """True where a sequence of that length has a token, False where it is padded."""
    return torch.arange(positions, device=lengths.device) < lengths[:, None]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """True where the key stands at or before the query; the last query may see every key."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
