"""Parameters into a model, from whatever file they came."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from saccade.parameters import check_parameters


def fill(model: nn.Module, parameters: Mapping[str, NDArray[Any]], *, origin: str) -> None:
    """Copy parameters into a model of the same make; anything missing, left over or misshapen is refused."""
    own = dict(model.named_parameters())
    given = {name: torch.from_numpy(values) for name, values in parameters.items()}
    check_parameters(
        {name: tuple(parameter.shape) for name, parameter in own.items()},
        {name: tuple(values.shape) for name, values in given.items()},
        origin=origin,
    )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(given[name])
