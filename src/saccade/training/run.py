"""A run directory: what a training leaves behind, and what it goes on from.

recipe.toml      the resolved recipe
corpus/          the prepared corpus
checkpoints/     see checkpoint.py
metrics.jsonl    a line for every few updates and for every validation
tensorboard/     if asked for
model/           the best model so far; at the end, the finished one
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saccade import __version__, files, settings
from saccade.errors import CheckpointError, SettingsError, TrainingError
from saccade.recipe import Recipe
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint


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
    """A linear schedule depends on the number of updates from the first one on.

    Files may move: the digest of the corpus tells whether they still hold the same.
    """
    return change.may_change and not (recipe.training.schedule == "linear" and change.path == "training.updates")
