"""A run directory: what a training leaves behind, and what it goes on from.

recipe.toml      the resolved recipe
corpus/          the prepared corpus
checkpoints/     see checkpoint.py
metrics.jsonl    a line for every few updates and for every validation
tensorboard/     if asked for
model/           the best model so far; at the end, the finished one
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade import directory, settings
from saccade.errors import CheckpointError, SettingsError, TrainingError
from saccade.recipe import Recipe
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint

MAY_CHANGE = re.compile(
    r"run:|search\.|data\.(train\[\d+\]|valid)\.(source|target|file):|"
    r"training\.(updates|max_skipped|validate_every|validation_\w+|patience|checkpoint_every|keep\w*|average|log_every|"
    r"tensorboard|compile|shard|device|threads):"
)
"""Settings that a run may go on with changed: they do not alter what the updates so far have meant. Files may have been
moved; whether they still hold the same corpus, its digest tells."""


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
            refused = [change for change in settings.differences(before, recipe) if not _may_change(change, recipe)]
            if refused:
                raise SettingsError(
                    f"The run in {run.path} was started with other settings. Undo these changes to go on with it, "
                    "or give the new recipe a `run` directory of its own",
                    refused,
                )
        run.path.mkdir(parents=True, exist_ok=True)
        directory.recover(run.model)
        checkpoint.recover(run.checkpoints)
        directory.write_text(stored, settings.dump(recipe))
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
def claimed(path: Path) -> Iterator[None]:
    """Keep all other trainings off a run directory. The lock is the system's: it leaves no file, and ends with us."""
    path.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(
                f"Only one training at a time may write to {path}, but another one is at work there. Wait for it, "
                "interrupt it with Ctrl-C, or give this recipe a `run` directory of its own."
            ) from None
        yield
    finally:
        os.close(handle)


def _may_change(change: str, recipe: Recipe) -> bool:
    """A rate that falls in a line to the last update depends on how many there are, from the first one on."""
    if recipe.training.schedule == "linear" and change.startswith("training.updates:"):
        return False
    return MAY_CHANGE.match(change) is not None
