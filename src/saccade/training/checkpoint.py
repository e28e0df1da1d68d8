"""Checkpoints: all that a run needs to go on as if it had never stopped, written whole or not at all. No pickle.

    update-00001000/
      model.safetensors       parameters
      optimizer.safetensors   Adam's two moments of every parameter
      checkpoint.json         progress, the sha256 of both files, and a checksum of all this; written last

Random states are not stored: they are functions of (seed, update).
"""

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import nn

from saccade.data.sampler import Position
from saccade.directory import sync
from saccade.engines.torch import fill
from saccade.errors import CheckpointError
from saccade.models.build import Model

FORMAT = 1
MODEL, OPTIMIZER, PROGRESS = "model.safetensors", "optimizer.safetensors", "checkpoint.json"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    corpus: str
    """Digest of the encoded corpus that the run learns from."""
    update: int = 0
    """Updates done."""
    position: Position = field(default_factory=Position)
    """Batches done."""
    tokens: int = 0
    """Target tokens learned from."""
    seconds: float = 0.0
    """Time spent in training proper, validation not counted."""
    validated: int = 0
    """The update of the last validation."""
    best: float | None = None
    """The best validation so far, by the measure that the settings name; higher is better."""
    best_update: int = 0
    """When that was."""
    stale: int = 0
    """Validations since then."""
    baseline: float | None = None
    """What rewards of choices by chance are held against; hard attention only."""
    skipped: int = 0
    """Updates left out because their gradients were not finite."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk, found sound."""

    path: Path
    progress: Progress

    def model(self) -> Arrays:
        """Parameters by name."""
        return load_file(self.path / MODEL)

    def restore(self, model: Model, optimizer: torch.optim.Optimizer) -> None:
        """Put parameters and optimizer back to where they were."""
        fill(model, self.model(), origin=str(self.path))
        _fill_optimizer(
            model, optimizer, load_file(self.path / OPTIMIZER), self.progress.update - self.progress.skipped
        )


def save(directory: Path, model: Model, optimizer: torch.optim.Optimizer, progress: Progress) -> Checkpoint:
    """Write a checkpoint under a temporary name, make sure it is on the disk, then give it its name."""
    path = directory / f"update-{progress.update:08d}"
    draft = directory / f".{path.name}.{uuid.uuid4().hex[:8]}"
    draft.mkdir(parents=True)
    try:
        save_file(parameters(model), draft / MODEL)
        save_file(_moments(model, optimizer), draft / OPTIMIZER)
        described = {
            "format": FORMAT,
            "progress": asdict(progress),
            "sha256": {name: _sha256(draft / name) for name in (MODEL, OPTIMIZER)},
        }
        described["checksum"] = _checksum(described)
        (draft / PROGRESS).write_text(json.dumps(described, indent=1), encoding="utf-8")
        for file in draft.iterdir():
            sync(file)
        if path.exists():  # a run that was set back to an earlier checkpoint comes by again
            shutil.rmtree(path)
        draft.rename(path)
        sync(directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Checkpoint(path, progress)


def check(path: Path) -> Checkpoint:
    """A checkpoint whose files are whole, or a CheckpointError that says what is wrong."""
    try:
        described = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
        if described["format"] != FORMAT:
            raise CheckpointError(f"{path} has format {described['format']}, but this saccade reads format {FORMAT}.")
        if described.pop("checksum") != _checksum(described):
            raise ValueError("its numbers do not add up to its checksum")
        for name, checksum in described["sha256"].items():
            if _sha256(path / name) != checksum:
                raise CheckpointError(
                    f"{path / name} must have the checksum that {PROGRESS} names, but has another: "
                    "the file was cut short or damaged."
                )
        progress = described["progress"]
        return Checkpoint(path, Progress(**progress | {"position": Position(**progress["position"])}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} must be a whole checkpoint, but {PROGRESS} cannot be read ({error}).") from error


def every(directory: Path) -> list[Path]:
    """All checkpoints of a run, newest first, sound or not."""
    return sorted(directory.glob("update-*"), reverse=True)


def newest(directory: Path) -> tuple[Checkpoint | None, list[CheckpointError]]:
    """The newest sound checkpoint, and what is wrong with each newer one that was passed over."""
    damaged: list[CheckpointError] = []
    for path in every(directory):
        try:
            return check(path), damaged
        except CheckpointError as error:
            damaged.append(error)
    return None, damaged


def sound(directory: Path) -> Iterator[Checkpoint]:
    """The checkpoints that are whole, newest first."""
    for path in every(directory):
        with suppress(CheckpointError):
            yield check(path)


def prune(directory: Path, keep: int, *, spacing: int) -> None:
    """Remove all but the newest checkpoints, and what an interrupted write has left.

    One that is not at a multiple of `spacing` was left by an interrupt or a former end, and goes as soon as there is
    a newer one: which checkpoints are averaged must not depend on it.
    """
    older = every(directory)[1:]
    regular = [path for path in older if int(path.name.removeprefix("update-")) % spacing == 0]
    for path in {*older, *directory.glob(".update-*")} - {*regular[: keep - 1]}:
        shutil.rmtree(path, ignore_errors=True)


def average(checkpoints: Sequence[Checkpoint]) -> Arrays:
    """The mean of the parameters of several checkpoints (Vaswani et al. 2017, §6.1)."""
    total: dict[str, NDArray[np.float64]] = {}
    for checkpoint in checkpoints:
        for name, values in checkpoint.model().items():
            total[name] = total.get(name, 0) + values.astype(np.float64)
    return {name: (values / len(checkpoints)).astype(np.float32) for name, values in total.items()}


def parameters(model: nn.Module) -> Arrays:
    """A model's parameters by name, tied ones once."""
    return {name: values.detach().cpu().numpy() for name, values in model.named_parameters()}


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> Arrays:
    return {
        f"{moment}.{name}": state[moment].detach().cpu().numpy()
        for name, state in _states(model, optimizer)
        for moment in ("exp_avg", "exp_avg_sq")
    }


def _fill_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, moments: Arrays, steps: int) -> None:
    for name, parameter in model.named_parameters():
        optimizer.state[parameter] = {
            "step": torch.tensor(float(steps), device=parameter.device),
            **{
                moment: torch.from_numpy(moments[f"{moment}.{name}"]).to(parameter)
                for moment in ("exp_avg", "exp_avg_sq")
            },
        }


def _states(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
    for name, parameter in model.named_parameters():
        yield name, optimizer.state[parameter]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
