"""Checkpoints: all that a run needs to go on as if it had never stopped, written whole or not at all. No pickle.

    update-00001000/
      model.safetensors       parameters
      optimizer.safetensors   Adam's two moments of every parameter
      checkpoint.json         progress, the sha256 of these files, and a checksum of all this; written last

Where a model is spread over several processes, each writes the rows that it holds: model-00001-of-00002.safetensors, …
Random states are not stored: they are functions of (seed, update).
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from torch import nn

from saccade.data.sampler import Position
from saccade.errors import CheckpointError
from saccade.files import draft_directory, remove_directory, sha256_of
from saccade.models.fill import fill
from saccade.training.settings import TrainingSettings

FORMAT = 1
MODEL, OPTIMIZER, PROGRESS = "model.safetensors", "optimizer.safetensors", "checkpoint.json"
MOMENTS = ("exp_avg", "exp_avg_sq")
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    corpus: str  # digest of the encoded corpus that the run learns from
    update: int = 0  # updates done
    position: Position = field(default_factory=Position)  # batches done
    tokens: int = 0  # target tokens learned from
    seconds: float = 0.0  # spent in training proper, validation not counted
    validated: int = 0  # the update of the last validation
    best: float | None = None  # the best validation so far, by the measure that the settings name; higher is better
    best_update: int = 0  # when that was
    stale: int = 0  # validations since then
    baseline: float | None = None  # what rewards of sampled choices are compared with; hard attention only
    worth: float | None = None  # the last validation, by the measure that the settings name
    skipped: int = 0  # updates without effect, because their gradients were not finite


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a checkpoint holds, copied: the training may go on while it is written."""

    progress: Progress
    files: dict[str, Arrays]  # by the file's name


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk, found sound."""

    path: Path
    progress: Progress

    def model(self) -> Arrays:
        """Parameters by name."""
        return _read(self.path, MODEL)

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Put parameters and optimizer back to where they were."""
        fill(model, self.model(), origin=str(self.path))
        moments, steps = _read(self.path, OPTIMIZER), float(self.progress.update - self.progress.skipped)
        for name, parameter in model.named_parameters():
            optimizer.state[parameter] = {"step": torch.tensor(steps, device=parameter.device)}
            for moment in MOMENTS:
                values = torch.from_numpy(moments[f"{moment}.{name}"])
                optimizer.state[parameter][moment] = torch.zeros_like(parameter).copy_(values)


def snapshot(model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress) -> Snapshot:
    """Copy parameters and moments as they are now."""
    # By numpy, whose one thread beats those of torch, which wait for each other, where the cores are busy.
    files = {MODEL: parameters(model), OPTIMIZER: _moments(model, optimizer)}
    copies = {file: {name: values.copy() for name, values in arrays.items()} for file, arrays in files.items()}
    return Snapshot(progress, copies)


def write(directory: Path, snapshot: Snapshot) -> Checkpoint:
    """Write a checkpoint under a temporary name, make sure it is on the disk, then give it its name."""
    path = directory / f"update-{snapshot.progress.update:08d}"
    with draft_directory(path) as draft:  # takes the place of an earlier one if a run that was set back comes by again
        for name, arrays in snapshot.files.items():
            save_file(arrays, draft / name)
        describe(draft, snapshot.progress, snapshot.files)
    return Checkpoint(path, snapshot.progress)


def describe(draft: Path, progress: Progress, files: Iterable[str]) -> None:
    """Write what makes a checkpoint of files: the progress, and the checksum of each."""
    checksums = {name: sha256_of(draft / name) for name in files}
    described = {"format": FORMAT, "progress": asdict(progress), "sha256": checksums}
    described["checksum"] = _checksum(described)
    (draft / PROGRESS).write_text(json.dumps(described, indent=1), encoding="utf-8")


def check(path: Path) -> Checkpoint:
    """A checkpoint whose files are whole, or a CheckpointError that says what is wrong."""
    progress, checksums = _described(path)
    for name, checksum in checksums.items():
        try:
            found = sha256_of(path / name)
        except OSError as error:
            raise CheckpointError(f"{path / name} must be a part of the checkpoint, but {error.strerror}.") from error
        if found != checksum:
            must = f"{path / name} must have the checksum that {PROGRESS} names"
            raise CheckpointError(f"{must}, but has another: the file was cut short or damaged.")
    return Checkpoint(path, progress)


def every(directory: Path) -> list[Path]:
    """All checkpoints of a run, newest first, sound or not."""
    named = [path for path in directory.glob("update-*") if path.name.removeprefix("update-").isdecimal()]
    return sorted(named, key=update_of, reverse=True)


def newest(directory: Path) -> tuple[Checkpoint | None, list[CheckpointError]]:
    """The newest sound checkpoint, and what is wrong with each newer one that was passed over."""
    damaged: list[CheckpointError] = []
    for path in every(directory):
        try:
            return check(path), damaged
        except CheckpointError as error:
            damaged.append(error)
    return None, damaged


def last(directory: Path, count: int, *, spacing: int) -> list[Checkpoint]:
    """Those of the last checkpoints that are whole, newest first."""
    found = []
    for path in _regular(every(directory), spacing)[:count]:
        with suppress(CheckpointError):
            found.append(check(path))
    return found


def prune(directory: Path, written: Path, settings: TrainingSettings) -> None:
    """Remove the checkpoints that the settings do not keep, now that a new one was `written`."""
    # Any newer than that are damaged: they were passed over when the run was resumed.
    found = every(directory)
    regular = _regular([path for path in found if update_of(path) <= update_of(written)], settings.checkpoint_every)
    kept = regular[: max(settings.keep, settings.average)]
    kept += [path for path in regular if settings.keep_every and update_of(path) % settings.keep_every == 0]
    ranked = sorted((worth, path) for path in regular if (worth := _worth(path)) is not None)
    kept += [path for _, path in ranked[::-1][: settings.keep_best]]
    for path in found:
        if path not in kept:
            remove_directory(path)


class CheckpointWriter:
    """Writes one checkpoint at a time in a thread of its own, then removes those that are not to be kept."""

    def __init__(self, directory: Path, settings: TrainingSettings) -> None:
        self._directory, self._settings = directory, settings
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future[None] | None = None

    def start(self, snapshot: Snapshot) -> None:
        """Begin to write a checkpoint, once the one before stands."""
        self.join()
        self._job = self._thread.submit(self._write, snapshot)

    def join(self) -> None:
        """Wait until the last checkpoint stands; raises what kept it from being written."""
        job, self._job = self._job, None
        if job is not None:
            job.result()

    def check(self) -> None:
        """Raise what kept the last checkpoint from being written, if that is known by now."""
        if self._job is not None and self._job.done():
            self.join()

    def __enter__(self) -> "CheckpointWriter":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.join()
        self._thread.shutdown()

    def _write(self, snapshot: Snapshot) -> None:
        try:
            written = write(self._directory, snapshot)
            prune(self._directory, written.path, self._settings)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"The checkpoint of update {snapshot.progress.update:,} cannot be written to {self._directory}: "
                f"{getattr(error, 'strerror', None) or error}. Check that you may write there and that the disk is not "
                "full. The same command then resumes from the checkpoint before it."
            ) from error


def average(checkpoints: Sequence[Checkpoint]) -> Arrays:
    """The mean of the parameters of several checkpoints (Vaswani et al. 2017, §6.1)."""
    total: dict[str, NDArray[np.float64]] = {}
    for checkpoint in checkpoints:
        for name, values in checkpoint.model().items():
            total[name] = total.get(name, 0) + values.astype(np.float64)
    return {name: np.asarray(values / len(checkpoints), dtype=np.float32) for name, values in total.items()}


def parameters(model: nn.Module) -> Arrays:
    """A model's parameters by name, tied ones once; of one that is spread over processes, the rows that are here."""
    return {name: _array(values) for name, values in model.named_parameters()}


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    here = tensor.detach()
    return (here.to_local() if hasattr(here, "to_local") else here).cpu().numpy()


def _moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> Arrays:
    """Of a parameter that was never updated they are zero."""
    return {
        f"{moment}.{name}": _array(optimizer.state[parameter].get(moment, torch.zeros_like(parameter)))
        for name, parameter in model.named_parameters()
        for moment in MOMENTS
    }


def _described(path: Path) -> tuple[Progress, dict[str, str]]:
    """What a checkpoint says of itself: how far it had come, and the checksums of its files."""
    try:
        described = json.loads((path / PROGRESS).read_text(encoding="utf-8"))
        if described["format"] != FORMAT:
            raise CheckpointError(f"{path} has format {described['format']}, but this saccade reads format {FORMAT}.")
        if described.pop("checksum") != _checksum(described):
            raise ValueError("its numbers do not add up to its checksum")
        progress = described["progress"]
        return Progress(**progress | {"position": Position(**progress["position"])}), dict(described["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} must be a whole checkpoint, but {PROGRESS} cannot be read ({error}).") from error


def _read(path: Path, name: str) -> Arrays:
    """A file of a checkpoint, or its parts put together: each holds some rows of every tensor."""
    if (path / name).exists():
        return load_file(path / name)
    parts = [load_file(part) for part in sorted(path.glob(f"{Path(name).stem}-*-of-*{Path(name).suffix}"))]
    return {tensor: np.concatenate([part[tensor] for part in parts]) for tensor in parts[0]}


def update_of(path: Path) -> int:
    """The number of updates that a checkpoint was made after, by its name."""
    return int(path.name.removeprefix("update-"))


def _regular(paths: list[Path], spacing: int) -> list[Path]:
    """The newest, and those before it at multiples of `spacing`."""
    # One elsewhere was left by an interrupt or a former end: what is averaged and kept must not depend on it.
    return paths[:1] + [path for path in paths[1:] if update_of(path) % spacing == 0]


def _worth(path: Path) -> float | None:
    """How good a checkpoint is, if it was validated."""
    with suppress(CheckpointError):
        progress, _ = _described(path)
        return progress.worth if progress.validated == progress.update else None
    return None


def _checksum(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
