"""Where a head of a Neural Turing Machine looks (Graves et al. 2014, §3.3): first by content, then by location.

Each function goes from weights to weights. Nothing is written to the memory here, and nothing kept on modules: the
weights of the step before are handed in.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from saccade.nn.capture import listener
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import unit

LARGEST = 20.0
"""Outputs of a controller are cut off beyond: sharper than this, a head would hardly learn any more."""


def content(
    wanted: Float[Tensor, "batch heads d_key"],
    memory: Float[Tensor, "batch key d_key"],
    sharpness: Float[Tensor, "batch heads 1"],
) -> Float[Tensor, "batch heads key"]:
    """softmax(β cos(k, M)) (eq. 5–6). A row of zeros has no direction: its cosine is 0, and it gets no gradient."""
    return masked_softmax(sharpness * (unit(wanted) @ unit(memory).mT), None)


def interpolate(
    weights: Float[Tensor, "*batch key"], previous: Float[Tensor, "*batch key"], gate: Float[Tensor, "*batch 1"]
) -> Float[Tensor, "*batch key"]:
    """gw + (1 - g)w′ (eq. 7): a gate of 0 keeps the previous weights."""
    return gate * weights + (1 - gate) * previous


def shift(weights: Float[Tensor, "*batch key"], shifts: Float[Tensor, "*batch shifts"]) -> Float[Tensor, "*batch key"]:
    """Σ_j w(j)s(i - j), counted around (eq. 8). `shifts` says how likely each shift from -r to r is."""
    assert shifts.shape[-1] % 2 == 1
    reach = shifts.shape[-1] // 2
    rolled = torch.stack([weights.roll(distance, dims=-1) for distance in range(-reach, reach + 1)], dim=-1)
    return (rolled @ shifts[..., None])[..., 0]


def sharpen(weights: Float[Tensor, "*batch key"], gamma: Float[Tensor, "*batch 1"]) -> Float[Tensor, "*batch key"]:
    """w^γ / Σw^γ (eq. 9), γ ≥ 1. A weight of zero stays zero, and gets no gradient."""
    # By logarithms: with a hundred rows, the powers of even weights would all be zero in float32.
    counts = weights > 0
    return masked_softmax(gamma * weights.masked_fill(~counts, 1.0).log(), counts)


class Addressing(nn.Module):
    """The weights of heads over the rows of a memory: content, interpolation, shift, sharpening (Figure 2).

    `reach` is the farthest shift, in either direction. A head that cannot interpolate finds its place by content
    anew at each step, and one that cannot sharpen keeps what shifts have blurred.
    """

    def __init__(
        self,
        d_controller: int,
        d_key: int,
        *,
        num_heads: int = 1,
        reach: int = 1,
        interpolates: bool = True,
        sharpens: bool = True,
    ) -> None:
        super().__init__()
        self.num_heads, self.reach, self.interpolates, self.sharpens = num_heads, reach, interpolates, sharpens
        self.sizes = [d_key, 1, int(interpolates), 2 * reach + 1 if reach else 0, int(sharpens)]
        self.of_controller = nn.Linear(d_controller, num_heads * sum(self.sizes))
        nn.init.xavier_uniform_(self.of_controller.weight)
        nn.init.zeros_(self.of_controller.bias)

    def forward(
        self,
        controller: Float[Tensor, "batch d_controller"],
        memory: Float[Tensor, "batch key d_key"],
        previous: Float[Tensor, "batch heads key"],
    ) -> Float[Tensor, "batch heads key"]:
        """Where the controller wants each head to look, given where it looked before."""
        outputs = self.of_controller(controller).clamp(-LARGEST, LARGEST).unflatten(-1, (self.num_heads, -1))
        wanted, sharpness, gate, shifts, gamma = torch.split(outputs, self.sizes, dim=-1)
        weights = content(wanted, memory, softplus(sharpness))
        if self.interpolates:
            weights = interpolate(weights, previous, gate.sigmoid())
        if self.reach:
            weights = shift(weights, shifts.softmax(dim=-1))
        if self.sharpens:
            weights = sharpen(weights, 1 + softplus(gamma))
        if heard := listener():
            heard.hear(self, weights[:, :, None])  # one query
        return weights
