"""Parameters in safetensors files: read, counted, and checked against a model. No torch, no pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load

from saccade.errors import ModelError

Shapes = Mapping[str, tuple[int, ...]]
Parameters = Mapping[str, NDArray[Any]]


def read_parameters(path: Path) -> dict[str, NDArray[Any]]:
    """All tensors of a safetensors file by name; those of 16 bits, which take half the space, as 32."""
    with open_parameters(path) as file:
        return _widened({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118


def count_parameters(path: Path) -> int:
    """How many numbers a safetensors file holds, from its header alone."""
    with open_parameters(path) as file:
        return sum(int(np.prod(file.get_slice(name).get_shape())) for name in file.keys())  # noqa: SIM118


def open_parameters(path: Path) -> Any:
    """Open a safetensors file; one that is cut short or is none is refused by name."""
    try:
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error) from error


def parse_parameters(content: bytes, *, path: Path) -> dict[str, NDArray[Any]]:
    """The same from the content of a safetensors file."""
    try:
        return _widened(load(content))
    except SafetensorError as error:
        raise _damaged(path, error) from error


def _widened(tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name: values.astype(np.float32) if values.dtype == np.float16 else values for name, values in tensors.items()
    }


def _damaged(path: Path, error: Exception) -> ModelError:
    return ModelError(
        f"{path} must be a whole safetensors file, but cannot be read ({error}). "
        "It was probably cut short while being copied: copy it again, or train the model again."
    )


def check_parameters(expected: Shapes, given: Shapes, *, origin: str) -> None:
    """Refuse parameters, by name and shape, that are not those of a model: missing, left over or misshapen."""
    problems = [f"{name} is missing" for name in expected.keys() - given.keys()]
    problems += [f"{name} is not a parameter of this model" for name in given.keys() - expected.keys()]
    for name in expected.keys() & given.keys():
        if expected[name] != given[name]:
            problems.append(f"{name} must have shape {expected[name]}, not {given[name]}")
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise ModelError(
            f"The parameters of {origin} must fit its settings and vocabulary, but {'; '.join(sorted(problems)[:5])}"
            f"{more}. Its files do not belong together: copy the whole model directory again."
        )


def merge_factors(start: Parameters, factors: Parameters, scale: float, *, origin: str) -> dict[str, NDArray[Any]]:
    """Parameters with a change of low rank (LoRA): start + scale · B·A where there are factors NAME.A and NAME.B."""
    merged = dict(start)
    names = sorted({name.rpartition(".")[0] for name in factors})
    expected: dict[str, tuple[int, ...]] = {}
    for name in names:
        rank = factors[f"{name}.A"].shape[0] if f"{name}.A" in factors else 0
        d_output, d_input = start[name].shape if name in start and start[name].ndim == 2 else (0, 0)
        expected |= {f"{name}.A": (rank, d_input), f"{name}.B": (d_output, rank)}
    check_parameters(expected, {name: values.shape for name, values in factors.items()}, origin=origin)
    for name in names:
        merged[name] = start[name] + np.float32(scale) * (factors[f"{name}.B"] @ factors[f"{name}.A"])
    return merged
