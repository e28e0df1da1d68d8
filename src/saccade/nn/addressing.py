"""Where a head of a Neural Turing Machine looks (Graves et al. 2014, §3.3): first by content, then by location.

Each function goes from weights to weights. Nothing is written to the memory here, and nothing kept on modules: the
weights of the step before are handed in.
"""

from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from saccade.nn.axes import ControllerStates, HeadWeights, Keys
from saccade.nn.capture import AttentionModule, active_capture
from saccade.nn.layers import init_xavier
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import unit

SHORTEST = 1e-12
"""A vector shorter than this has no direction."""
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
    """What a controller says to its heads, and where they look then (Figure 2): the readable twin."""
    wanted, sharpness, gate, shifts, gamma = torch.split(outputs.clamp(-LARGEST, LARGEST), parts.sizes, dim=-1)
    weights = content(wanted, memory, softplus(sharpness))
    if parts.interpolates:
        weights = interpolate(weights, previous, gate.sigmoid())
    if parts.reach:
        weights = shift(weights, shifts.softmax(dim=-1))
    if parts.sharpens:
        weights = sharpen(weights, 1 + softplus(gamma))
    return weights


def address_fused(outputs: HeadOutputs, memory: Keys, previous: HeadWeights, parts: Parts) -> HeadWeights:
    """`address` with its gradients by hand: a third of the operations, which is what a small machine's step costs."""
    weights: Tensor = _Addressed.apply(outputs, memory, previous, parts)  # type: ignore[no-untyped-call]
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
        weights = address_fused(outputs, memory, previous, self.parts)
        if captured := active_capture():
            captured.record(self, weights[:, :, None])  # one query
        return weights


class _Addressed(torch.autograd.Function):
    """Each line backward undoes one forward, last to first."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, memory: Tensor, previous: Tensor, parts: Parts) -> Tensor:
        clamped = outputs.clamp(-LARGEST, LARGEST)
        wanted, sharpness, gate, shifts, gamma = torch.split(clamped, parts.sizes, dim=-1)
        asked, per_asked = _unit(wanted)
        rows, per_row = _unit(memory)
        cosine, beta = asked @ rows.mT, softplus(sharpness)
        found = weights = (beta * cosine).softmax(dim=-1)
        saved = [outputs, clamped, previous, asked, per_asked, rows, per_row, cosine, beta, found]
        if parts.interpolates:
            gate = gate.sigmoid()
            weights = torch.lerp(previous, weights, gate)
            saved += [gate]
        if parts.reach:
            shifts = shifts.softmax(dim=-1)
            around = weights[..., _around(weights.shape[-1], parts.reach, weights.device)]
            weights = (around * shifts[..., None, :]).sum(dim=-1)
            saved += [shifts, around]
        if parts.sharpens:
            blurred = weights.clamp_min(torch.finfo(weights.dtype).tiny)
            logs, power = blurred.log(), softplus(gamma) + 1
            weights = (power * logs).softmax(dim=-1)
            saved += [blurred, logs, power, weights]
        ctx.parts = parts
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        parts: Parts = ctx.parts
        outputs, clamped, previous, asked, per_asked, rows, per_row, cosine, beta, found, *saved = ctx.saved_tensors
        to_outputs, to_previous = torch.empty_like(clamped), None
        to_wanted, to_sharpness, to_gate, to_shifts, to_gamma = torch.split(to_outputs, parts.sizes, dim=-1)
        _, sharpness, _, _, gamma = torch.split(clamped, parts.sizes, dim=-1)
        if parts.sharpens:
            *saved, blurred, logs, power, weights = saved
            gradient = _through_softmax(gradient, weights)
            torch.mul((gradient * logs).sum(dim=-1, keepdim=True), gamma.sigmoid(), out=to_gamma)
            gradient = gradient * power / blurred
        if parts.reach:
            *saved, shifts, around = saved
            to_shifts.copy_(_through_softmax((gradient[..., None] * around).sum(dim=-2), shifts))
            back = gradient[..., _around(gradient.shape[-1], -parts.reach, gradient.device)]
            gradient = (back * shifts[..., None, :]).sum(dim=-1)
        if parts.interpolates:
            (gate,) = saved
            torch.mul((gradient * (found - previous)).sum(dim=-1, keepdim=True), gate * (1 - gate), out=to_gate)
            to_previous = gradient * (1 - gate)
            gradient = gradient * gate
        gradient = _through_softmax(gradient, found)
        torch.mul((gradient * cosine).sum(dim=-1, keepdim=True), sharpness.sigmoid(), out=to_sharpness)
        gradient = gradient * beta
        to_wanted.copy_(_through_unit(gradient @ rows, asked, per_asked))
        to_memory = _through_unit(gradient.mT @ asked, rows, per_row)
        return to_outputs.mul_(outputs == clamped), to_memory, to_previous, None


def _unit(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """`unit`, and what each vector was multiplied by."""
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    per_length = lengths.reciprocal().masked_fill_(lengths < SHORTEST, 0.0)
    return vectors * per_length, per_length


def _through_unit(gradient: Tensor, directions: Tensor, per_length: Tensor) -> Tensor:
    """What is left of it across each direction: a longer vector has the same."""
    along = (gradient * directions).sum(dim=-1, keepdim=True)
    return torch.addcmul(gradient, directions, along, value=-1).mul_(per_length)


def _through_softmax(gradient: Tensor, weights: Tensor) -> Tensor:
    product = gradient * weights
    return torch.addcmul(product, weights, product.sum(dim=-1, keepdim=True), value=-1)


@cache
def _around(rows: int, reach: int, device: torch.device) -> Tensor:
    """For every row those that shifts from -r to r bring there; with -r, those that it goes to."""
    distances = torch.arange(-abs(reach), abs(reach) + 1, device=device) * (1 if reach > 0 else -1)
    return (torch.arange(rows, device=device)[:, None] - distances) % rows
