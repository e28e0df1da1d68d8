"""Evaluation for a while, and back to what was before."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Switch off dropout for a while; only the modules that were in training mode return to it.

    `model.train(was_training)` would not do: it also sets the submodules that were in evaluation mode, as the members
    of a new ensemble are.
    """
    in_training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in in_training:
            module.training = True


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients for a while."""
    with evaluation_mode(model), torch.inference_mode():
        yield
