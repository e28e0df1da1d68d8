"""Convolutional layers for sequences (Gehring et al. 2017): gated windows of positions, and attention in every layer.

Sums of two are halved in variance (× √½), and contexts of m source states are scaled by m√(1/m) = √m (§3.4), so that
deep stacks start out with activations of constant size. Left out: weight normalisation (§4.2), and the scaling of the
encoder's gradients (§3.4), which Adam would undo.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from saccade.nn.attention import Attention, Memory
from saccade.nn.axes import SourceMask, SourceStates, States, TargetStates
from saccade.nn.dropout import Dropout
from saccade.nn.layers import init_xavier
from saccade.nn.scores import dot

HALF = math.sqrt(0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvolutionShape:
    """What a convolutional layer is made of."""

    d_model: int
    kernel: int
    dropout: float


class GatedConvolution(nn.Module):
    """GLU(W[xᵢ … xᵢ₊ₖ₋₁] + b): half of the outputs let the other half through (§3.2; Dauphin et al. 2017)."""

    def __init__(self, shape: ConvolutionShape) -> None:
        super().__init__()
        self.kernel = shape.kernel
        self.dropout = Dropout(shape.dropout)
        # The k positions stand side by side in one long vector, so that a window is one product.
        self.window = nn.Linear(shape.kernel * shape.d_model, 2 * shape.d_model)
        nn.init.normal_(self.window.weight, std=math.sqrt(4 * (1 - shape.dropout) / (shape.kernel * shape.d_model)))
        nn.init.zeros_(self.window.bias)

    def forward(self, states: Float[Tensor, "batch padded d_model"]) -> States:
        """One output for each window that fits: k - 1 fewer than there are states."""
        windows = self.dropout(states).unfold(1, self.kernel, 1)
        return glu(self.window(windows.transpose(-1, -2).flatten(-2)), dim=-1)


class ConvolutionalEncoderLayer(nn.Module):
    """Every position sees its neighbours on both sides."""

    def __init__(self, shape: ConvolutionShape) -> None:
        super().__init__()
        self.convolution = GatedConvolution(shape)

    def forward(self, states: SourceStates, mask: SourceMask) -> SourceStates:
        states = states * mask[..., None]  # what lies beyond the end is like what lies before the beginning: zero
        side = self.convolution.kernel // 2
        convolved: Tensor = self.convolution(pad(states, (0, 0, side, side)))
        return (convolved + states) * HALF


class ConvolutionalDecoderLayer(nn.Module):
    """Every position sees those before it, then looks at the source (multi-step attention, §3.3)."""

    def __init__(self, shape: ConvolutionShape) -> None:
        super().__init__()
        self.convolution = GatedConvolution(shape)
        self.query = nn.Linear(shape.d_model, shape.d_model)
        self.cross_attention = Attention(dot(), kind="cross")
        self.output = nn.Linear(shape.d_model, shape.d_model)
        init_xavier(self.query, self.output)

    def forward(
        self, states: TargetStates, embedded: TargetStates, source: Memory, past: Float[Tensor, "batch before d_model"]
    ) -> tuple[TargetStates, Float[Tensor, "batch before d_model"]]:
        """The new states, and the last k - 1 inputs, which the next position needs. At first the past is zero.

        d = (W h + b + g)√½ asks with the position's own embedding g (eq. 1).
        """
        seen = torch.cat([past, states], dim=1)
        convolved = self.convolution(seen)
        asked = (self.query(convolved) + embedded) * HALF
        read = self.output(self.cross_attention(asked, source).context)
        after = (((convolved + read) * HALF) + states) * HALF
        return after, seen[:, states.shape[1] :]


def convolutional_memory(states: SourceStates, embedded: SourceStates, mask: SourceMask) -> Memory:
    """Keys z, values (z + e)√½ · √m: what an element means, and which one it is (eq. 2)."""
    num_states = mask.sum(dim=1).to(states.dtype)
    values = (states + embedded) * HALF * num_states.sqrt()[:, None, None]
    return Memory(states, values, mask)
