"""What is trained of a model that starts from another, and how far it goes: anywhere, near its start, or LoRA's way.

The model always holds the parameters that it computes with. What an optimizer steps and a checkpoint stores is
`trained`: the model itself, or the factors of a change to it.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.errors import SettingsError
from saccade.parameters import merge_factors
from saccade.training.settings import LoraSettings

Arrays = dict[str, NDArray[Any]]


class Whole:
    """Every parameter is trained, without any restraint."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.trained: nn.Module = model
        """What the optimizer steps, and what checkpoints hold."""
        self.stored: nn.Module = model
        """What a model directory holds."""

    def collect(self) -> None:
        """Turn the gradients of the model into those of what is trained."""

    def stepped(self, rate: float) -> None:
        """The optimizer has made a step at this learning rate."""

    def restored(self) -> None:
        """What is trained was put back to where it was."""

    @contextmanager
    def finished(self) -> Iterator[None]:
        """Within this, the model is what would be saved if training ended now."""
        yield

    def merge(self, trained: Arrays) -> Arrays:
        """All parameters of a finished model, from values of what is trained."""
        return trained


class Near(Whole):
    """Every parameter is trained, but held close to its start, in one of two ways or in both.

    pull     L2 to the start (Barone et al. 2017), decoupled from Adam as in AdamW (Loshchilov & Hutter 2019):
             each step is followed by θ ← θ - rate · pull · (θ - start)
    share    a finished model is the average share · start + (1 - share) · θ (Wortsman et al. 2022)
    """

    def __init__(self, model: nn.Module, *, pull: float, share: float) -> None:
        super().__init__(model)
        self.pull, self.share = pull, share
        self.start = {name: values.detach().clone() for name, values in model.named_parameters()}

    def stepped(self, rate: float) -> None:
        if self.pull:
            self._approach(min(1.0, rate * self.pull))

    @contextmanager
    def finished(self) -> Iterator[None]:
        own = [parameter.detach().clone() for parameter in self.model.parameters()] if self.share else []
        self._approach(self.share)
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, values in zip(self.model.parameters(), own, strict=bool(own)):
                    parameter.copy_(values)

    def merge(self, trained: Arrays) -> Arrays:
        share = np.float32(self.share)
        start = {name: values.cpu().numpy() for name, values in self.start.items()}
        return {name: values + share * (start[name] - values) for name, values in trained.items()}

    @torch.no_grad()
    def _approach(self, share: float) -> None:
        for name, parameter in self.model.named_parameters():
            parameter.lerp_(self.start[name], share)


class Factors(nn.Module):
    """The two factors of a matrix's change: A from the input to the rank, B from the rank to the output."""

    def __init__(self, matrix: Float[Tensor, "d_output d_input"], rank: int) -> None:
        super().__init__()
        d_output, d_input = matrix.shape
        self.A = nn.Parameter(torch.empty(rank, d_input, device=matrix.device))
        self.B = nn.Parameter(torch.zeros(d_output, rank, device=matrix.device))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))  # as Hu et al. 2022 do; B is zero, so that nothing changes


class LowRank(Whole):
    """Some matrices get a change of low rank, W = start + scale · B·A (LoRA, Hu et al. 2022); all else is frozen.

    The model computes with W, and its gradient G becomes those of the factors: scale · Bᵀ·G and scale · G·Aᵀ. So every
    kind of model can be trained this way, and is merged at any time. A finished one has (1 - share) of the change.
    """

    def __init__(self, model: nn.Module, settings: LoraSettings, *, share: float) -> None:
        super().__init__(model)
        self.scale, self.share = settings.scale, share
        self.matrices = {name: value for name, value in model.named_parameters() if settings.changes(name, value.dim())}
        if not self.matrices:
            raise SettingsError(
                "LoRA", [f'training.lora.layers must name layers of the model, but it has no "{settings.layers}".']
            )
        self.start = {name: matrix.detach().clone() for name, matrix in self.matrices.items()}
        self.factors = {name: Factors(matrix.detach(), settings.rank) for name, matrix in self.matrices.items()}
        self.trained = _tree(self.factors)
        self.stored = model if settings.merged else self.trained
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in self.matrices)

    @torch.no_grad()
    def collect(self) -> None:
        for name, matrix in self.matrices.items():
            factors, gradient = self.factors[name], matrix.grad
            factors.A.grad = None if gradient is None else self.scale * (factors.B.t() @ gradient)
            factors.B.grad = None if gradient is None else self.scale * (gradient @ factors.A.t())

    def stepped(self, rate: float) -> None:
        self.restored()

    def restored(self) -> None:
        self._change(self.scale)

    @contextmanager
    def finished(self) -> Iterator[None]:
        if self.share:
            self._change(self.scale * (1 - self.share))
        try:
            yield
        finally:
            if self.share:
                self._change(self.scale)

    def merge(self, trained: Arrays) -> Arrays:
        own = {name: values.detach().cpu().numpy() for name, values in self.model.named_parameters()}
        start = own | {name: values.cpu().numpy() for name, values in self.start.items()}
        return merge_factors(start, trained, self.scale * (1 - self.share), origin="LoRA")

    @torch.no_grad()
    def _change(self, scale: float) -> None:
        for name, matrix in self.matrices.items():
            factors = self.factors[name]
            matrix.copy_(torch.addmm(self.start[name], factors.B, factors.A, alpha=scale))


def _tree(leaves: Mapping[str, nn.Module]) -> nn.Module:
    """Modules by their dotted names in one module, so that its parameters have these names."""
    root = nn.Module()
    for name, leaf in leaves.items():
        *path, last = name.split(".")
        at = root
        for part in path:
            if part not in at._modules:
                at.add_module(part, nn.Module())
            at = at.get_submodule(part)
        at.add_module(last, leaf)
    return root
