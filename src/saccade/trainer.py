"""Recipe in, model out: prepare, train, resume, or estimate what that would take."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import need_torch
from saccade.recipe import Recipe
from saccade.training.reporter import Reporter

if TYPE_CHECKING:
    from saccade.training.estimate import TrainingEstimate


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a training ended."""

    model: Path
    """The model directory: the best model so far, or the finished one."""
    update: int
    """Updates done."""
    best_update: int
    """The update that the model is of."""
    seconds: float
    """Time spent on updates."""
    interrupted: bool
    """Somebody interrupted it; the same call resumes it."""
    stopped_early: bool
    """`training.patience` ended it: later validations found nothing better."""
    stale: int
    """Validations since the best one."""
    is_first: bool = True
    """Of several processes under torchrun, the first is the one that reports."""


def train(
    recipe: Recipe | str | Path, *, overrides: Sequence[str] = (), reporter: Reporter | None = None
) -> TrainingResult:
    """Train a model from a recipe or resume a training that was interrupted; data is prepared first if need be.

    `overrides` are settings such as `training.updates=500`. Ctrl-C saves a checkpoint and returns. Under torchrun, all
    processes train together.
    """
    need_torch("Training")
    from saccade.tasks.build import open_task
    from saccade.training import machine, processes
    from saccade.training.loop import Training
    from saccade.training.run import Run, lock_run

    recipe, reporter = _loaded(recipe, overrides), reporter or Reporter()
    device = machine.use(recipe.training.device, recipe.training.threads)
    with processes.joined(device) as group, lock_run(recipe.run) if group.is_first else nullcontext():
        task = open_task(recipe)

        def prepare_first() -> None:
            Run.open(recipe)
            task.prepare(reporter)

        group.first(prepare_first)
        run = Run(recipe.run, recipe)
        outcome = Training(run, task, reporter if group.is_first else None, group).fit()
    progress = outcome.progress
    return TrainingResult(
        model=run.model,
        update=progress.update,
        best_update=progress.best_update,
        seconds=progress.seconds,
        interrupted=outcome.interrupted,
        stopped_early=not outcome.interrupted and progress.update < recipe.training.updates,
        stale=progress.stale,
        is_first=group.is_first,
    )


def prepare(recipe: Recipe | str | Path, *, overrides: Sequence[str] = (), reporter: Reporter | None = None) -> Path:
    """Prepare the data of a recipe below its run directory, unless it is there; `train` does this by itself."""
    recipe = _loaded(recipe, overrides)
    recipe.prepare(reporter or Reporter())
    return recipe.run


def estimate(
    recipe: Recipe | str | Path, *, overrides: Sequence[str] = (), reporter: Reporter | None = None
) -> "TrainingEstimate":
    """Check settings and data, try a few updates and a validation. Nothing is saved but the prepared data."""
    need_torch("Training")
    from saccade.tasks.build import open_task
    from saccade.training import estimate as estimating
    from saccade.training import machine, processes
    from saccade.training.loop import Training
    from saccade.training.run import Run

    recipe, reporter = _loaded(recipe, overrides), reporter or Reporter()
    with processes.joined(machine.use(recipe.training.device, recipe.training.threads)) as group:
        task = open_task(recipe)
        group.first(lambda: task.prepare(reporter))
        return estimating.estimate(Training(Run(recipe.run, recipe), task, processes=group))


def _loaded(recipe: Recipe | str | Path, overrides: Sequence[str]) -> Recipe:
    return (recipe if isinstance(recipe, Recipe) else Recipe.load(recipe, overrides)).resolved()
