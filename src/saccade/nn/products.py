"""Large products of matrices by oneDNN, which torch carries, where its kernels are faster than MKL's.

The twin is `torch.nn.functional.linear`. On two cores of an EPYC an update of the base Transformer gains 5 % with its
layers alone, one of the tiny Transformer 1 to 2 %, all of it in the loss; on one core of a newer one, a search with a
base Transformer takes three quarters of its time (docs/log.md).
"""

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

LARGE = 1 << 28
"""Multiplications and additions from which a product is large. oneDNN makes a kernel for every new shape, which takes
0.4 ms, and batches have ever new shapes: with its layers, too, on oneDNN, the tiny Transformer loses 2 %."""

MEDIUM = 1 << 22
"""The same without gradients, where rows are rounded up so that few shapes occur."""


class _OneDNN:
    """Whether oneDNN is used. Its operation is a private one of torch, so it is tried before it is trusted."""

    is_used = False

    def multiply(self, left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
        return product

    def works(self) -> bool:
        left, right = torch.eye(2, 3), torch.arange(12.0).view(4, 3)
        try:
            return torch.equal(self.multiply(left, right, torch.ones(4)), left @ right.t() + 1)
        except (AttributeError, RuntimeError, TypeError):
            return False


_onednn = _OneDNN()


def prefers_onednn() -> bool:
    """Whether products are to be left to oneDNN: MKL has its fastest kernels for Intel's processors."""
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # no Linux: nothing is known
        return False


def use_onednn(wanted: bool) -> None:
    """From now on in this process, where this torch has it."""
    _onednn.is_used = wanted and _onednn.works()


def product(
    left: Float[Tensor, "positions d_input"], right: Float[Tensor, "d_output d_input"]
) -> Float[Tensor, "positions d_output"]:
    """left · rightᵀ, without a gradient."""
    if _suits(left, right):
        return _onednn.multiply(left, right)
    return torch.mm(left, right.t())


def linear(
    states: Float[Tensor, "*positions d_input"],
    weight: Float[Tensor, "d_output d_input"],
    bias: Float[Tensor, " d_output"],
) -> Float[Tensor, "*positions d_output"]:
    """states · weightᵀ + bias, as torch has it."""
    if not _suits(states, weight, LARGE if torch.is_grad_enabled() else MEDIUM):
        return functional.linear(states, weight, bias)
    if not torch.is_grad_enabled():
        return _rounded(states.reshape(-1, states.shape[-1]), weight, bias).view(*states.shape[:-1], -1)
    projected: Tensor = _Linear.apply(states, weight, bias)  # type: ignore[no-untyped-call]
    return projected


class Linear(nn.Linear):
    """`torch.nn.Linear` by `linear`."""

    def forward(self, states: Float[Tensor, "*positions d_input"]) -> Float[Tensor, "*positions d_output"]:
        return linear(states, self.weight, self.bias)


def _rounded(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """By oneDNN, with rows of zeros up to a number that has four significant bits, or is 8."""
    step = max(8, (1 << len(rows).bit_length()) >> 4)
    padded = functional.pad(rows, (0, 0, 0, -len(rows) % step))
    return _onednn.multiply(padded, weight, bias)[: len(rows)]


def _suits(left: Tensor, right: Tensor, least: int = LARGE) -> bool:
    return (
        not torch.compiler.is_compiling()  # first, as compiled code must not depend on sizes
        and _onednn.is_used
        and 2 * left.numel() * right.shape[0] >= least
        and left.device.type == "cpu"
        and left.dtype == right.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
    )


class _Linear(torch.autograd.Function):
    """The gradient of the weights, a product of transposed matrices, is left to MKL, which is no slower there."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(states, weight)
        return _onednn.multiply(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        states, weight = ctx.saved_tensors
        rows = gradient.reshape(-1, gradient.shape[-1])
        to_states = _onednn.multiply(rows, weight.t()).view(states.shape) if ctx.needs_input_grad[0] else None
        return to_states, torch.mm(rows.t(), states.reshape(-1, states.shape[-1])), rows.sum(dim=0)
