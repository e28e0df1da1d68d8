"""Where a head of a Neural Turing Machine looks (Graves et al. 2014, §3.3): first by content, then by location.

Each function goes from weights to weights. Nothing is written to the memory here, and nothing kept on modules: the
weights of the step before are handed in.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from saccade.nn.axes import ControllerStates, HeadWeights, Keys
from saccade.nn.capture import AttentionModule, active_capture
from saccade.nn.layers import init_xavier
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import unit

LARGEST = 20.0
"""Outputs of a controller are cut off beyond: sharper than this, a head would hardly learn any more."""
HeadOutputs = Float[Tensor, "batch heads d_outputs"]
Weights = Float[Tensor, "*batch key"]


def content(
    wanted: Float[Tensor, "batch heads d_key"], memory: Keys, sharpness: Float[Tensor, "batch heads 1"]
) -> HeadWeights:
    """softmax(β cos(k, M)) (eq. 5–6). A row of zeros has no direction: its cosine is 0, and it gets no gradient."""
    return masked_softmax(sharpness * (unit(wanted) @ unit(memory).mT), None)


def interpolate(weights: Weights, previous: Weights, gate: Float[Tensor, "*batch 1"]) -> Weights:
    """gw + (1 - g)w′ (eq. 7): a gate of 0 keeps the previous weights."""
    return gate * weights + (1 - gate) * previous


def shift(weights: Weights, shifts: Float[Tensor, "*batch shifts"]) -> Weights:
    """Σ_j w(j)s(i - j), counted around (eq. 8). `shifts` says how likely each shift from -r to r is."""
    assert shifts.shape[-1] % 2 == 1
    reach = shifts.shape[-1] // 2
    rolled = torch.stack([weights.roll(distance, dims=-1) for distance in range(-reach, reach + 1)], dim=-1)
    return (rolled @ shifts[..., None])[..., 0]


def sharpen(weights: Weights, gamma: Float[Tensor, "*batch 1"]) -> Weights:
    """w^γ / Σw^γ (eq. 9), γ ≥ 1. A weight of zero stays zero, and gets no gradient."""
    # By logarithms: with a hundred rows, the powers of even weights would all be zero in float32.
    counts = weights > 0
    return masked_softmax(gamma * weights.masked_fill(~counts, 1.0).log(), counts)


class Parts(NamedTuple):
    """What the addressing of a head consists of, besides the content."""

    d_key: int
    reach: int = 1
    """The farthest shift, in either direction."""
    interpolates: bool = True
    sharpens: bool = True

    @property
    def sizes(self) -> list[int]:
        """How many outputs of a controller tell a head what it wants, β, g, s and γ."""
        return [self.d_key, 1, int(self.interpolates), 2 * self.reach + 1 if self.reach else 0, int(self.sharpens)]


def address(outputs: HeadOutputs, memory: Keys, previous: HeadWeights, parts: Parts) -> HeadWeights:
    """What a controller says to its heads, and where they look then (Figure 2)."""
    wanted, sharpness, gate, shifts, gamma = torch.split(outputs.clamp(-LARGEST, LARGEST), parts.sizes, dim=-1)
    weights = content(wanted, memory, softplus(sharpness))
    if parts.interpolates:
        weights = interpolate(weights, previous, gate.sigmoid())
    if parts.reach:
        weights = shift(weights, shifts.softmax(dim=-1))
    if parts.sharpens:
        weights = sharpen(weights, 1 + softplus(gamma))
    return weights


class Addressing(AttentionModule):
    """The weights of heads over the rows of a memory: content, interpolation, shift, sharpening (Figure 2).

    A head that cannot interpolate finds its place by content anew at each step, and one that cannot sharpen keeps what
    shifts have blurred.
    """

    kind = "memory"

    def __init__(self, d_controller: int, parts: Parts, num_heads: int = 1) -> None:
        super().__init__()
        self.num_heads, self.parts = num_heads, parts
        self.of_controller = nn.Linear(d_controller, num_heads * sum(self.parts.sizes))
        init_xavier(self.of_controller)

    def forward(self, controller: ControllerStates, memory: Keys, previous: HeadWeights) -> HeadWeights:
        """Where the controller wants each head to look, given where it looked before."""
        outputs = self.of_controller(controller).unflatten(-1, (self.num_heads, -1))
        weights = address(outputs, memory, previous, self.parts)
        if captured := active_capture():
            captured.record(self, weights[:, :, None])  # one query
        return weights
