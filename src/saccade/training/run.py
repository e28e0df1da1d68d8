"""A run directory: what a training leaves behind, and what it goes on from.

recipe.toml      the resolved recipe
corpus/          the prepared corpus
checkpoints/     see checkpoint.py
metrics.jsonl    a line for every few updates and for every validation
tensorboard/     if asked for
model/           the best model so far; at the end, the finished one
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade import __version__, files, settings
from saccade.errors import CheckpointError, SettingsError, TrainingError
from saccade.files import sync
from saccade.recipe import Recipe
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint, Progress


@dataclass(frozen=True, slots=True)
class Run:
    """The directory of one training."""

    path: Path
    recipe: Recipe

    @classmethod
    def open(cls, recipe: Recipe) -> "Run":
        """A new run directory, or one that this recipe may go on with."""
        run = cls(recipe.run, recipe)
        stored = run.path / "recipe.toml"
        if stored.is_file() and checkpoint.every(run.checkpoints):  # else nothing has been learned that could be lost
            before = Recipe.load(stored)
            changes = [change for change in settings.differences(before, recipe) if not _may_change(change, recipe)]
            if changes:
                raise SettingsError(
                    f"The run in {run.path} was started with other settings. Undo these changes to resume it, "
                    "or give the new recipe a `run` directory of its own",
                    [str(change) for change in changes],
                )
        run.path.mkdir(parents=True, exist_ok=True)
        files.recover(run.model)
        files.recover(stored)
        files.recover_all(run.checkpoints)
        files.write_atomically(stored, f'saccade = "{__version__}"\n{settings.dump(recipe)}')
        return run

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        return self.path / "model"

    def newest(self) -> tuple[Checkpoint | None, list[CheckpointError]]:
        """Where to go on from, and the damaged checkpoints passed over. If there are only such, nobody is to go on."""
        found, damaged = checkpoint.newest(self.checkpoints)
        if damaged and found is None:
            raise CheckpointError(
                f"The run in {self.path} must have a sound checkpoint to go on from, but every one is damaged: "
                f"{' '.join(map(str, damaged))} Put them back from a copy, or remove {self.checkpoints} to begin anew."
            )
        return found, damaged


@contextmanager
def lock_run(path: Path) -> Iterator[None]:
    """Keep all other trainings off a run directory."""
    path.mkdir(parents=True, exist_ok=True)
    refusal = TrainingError(
        f"Only one training at a time may write to {path}, but another one is running. Wait for it, interrupt it with "
        "Ctrl-C, or give this recipe a `run` directory of its own."
    )
    with files.lock(path / ".lock", refusal):
        yield


def _may_change(change: settings.Difference, recipe: Recipe) -> bool:
    """Other schedules than the paper's depend on the number of updates from the first one on."""
    # Files may move: the digest of the corpus tells whether they still hold the same.
    return change.may_change and not (recipe.training.schedule != "inverse-sqrt" and change.path == "training.updates")


class Metrics:
    """Appends to a run's metrics; a resumed run first forgets what it will do again."""

    def __init__(self, directory: Path, progress: Progress, *, tensorboard: bool) -> None:
        self._path = directory / "metrics.jsonl"
        self._forget(progress)
        self._events = None
        if tensorboard:
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(str(directory / "tensorboard"), purge_step=progress.update + 1)

    def log(self, update: int, *, places: Sequence[str] = (), **figures: int | float) -> None:
        """Note figures by name, as they stand after this update, and lines of the corpus that they are about."""
        about = {"places": places} if places else {}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"update": update, **figures, **about}) + "\n")
        if self._events is not None:
            for name, figure in figures.items():
                self._events.add_scalar(name, figure, update)

    def sync(self) -> None:
        """Make sure that all lines are on the disk: after a checkpoint, those before it are not written again."""
        if self._path.exists():
            sync(self._path)

    def close(self) -> None:
        """Write out what is still on its way."""
        if self._events is not None:
            self._events.close()

    def _forget(self, progress: Progress) -> None:
        """Cut off the lines of what comes after `progress`, and a last one that was cut short."""
        if not self._path.is_file():
            return
        size = 0
        for line in self._path.read_bytes().splitlines(keepends=True):
            if not _is_of(progress, line):
                os.truncate(self._path, size)
                return
            size += len(line)


def _is_of(progress: Progress, line: bytes) -> bool:
    """Whether a line is whole and tells of something that `progress` includes."""
    try:
        figures = json.loads(line)
        done = progress.validated if "valid_loss" in figures else progress.update
        return line.endswith(b"\n") and bool(figures["update"] <= done)
    except (ValueError, TypeError, KeyError):
        return False
