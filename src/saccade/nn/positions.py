"""Sinusoidal positions (Vaswani et al. 2017, §3.5): without them, attention sees a bag of tokens."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.axes import States

Kind = Literal["paper", "marian"]
"""Of the frequencies."""


def sinusoids(positions: int, d_model: int, kind: Kind = "paper") -> Float[Tensor, "positions d_model"]:
    """sin and cos of pos / 10000^(2i/d), or of pos / 10000^(i/(d/2 - 1)), as in the authors' code and in Marian.

    The first half of a vector holds the sines, the second the cosines, as there; the paper's text interleaves them,
    which is the same up to the order of the dimensions.
    """
    half = d_model // 2
    frequencies = 10000.0 ** -(torch.arange(half, dtype=torch.float64) / (half if kind == "paper" else half - 1))
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()


class Positions(nn.Module):
    """Adds to each vector the sinusoids of its position."""

    table: Tensor

    def __init__(self, d_model: int, kind: Kind = "paper", *, num_cached: int = 512) -> None:
        super().__init__()
        self.kind: Kind = kind
        self.register_buffer("table", sinusoids(num_cached, d_model, kind), persistent=False)

    def forward(self, states: States, start: int = 0) -> States:
        """The first vector stands at position `start`. Sequences may be longer than the cached table."""
        end = start + states.shape[1]
        table = self.table
        if end > table.shape[0]:
            table = sinusoids(end, table.shape[1], self.kind).to(table)
        return states + table[start:end].to(states.dtype)
