"""`saccade train`: a recipe in, a model out."""

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from saccade import recipe as recipes
from saccade.cli.console import bar, note, print_result
from saccade.cli.options import Overrides, RecipeFile, typed
from saccade.cli.prepare import corpus_directory, prepared_corpus, show
from saccade.data.prepare import Prepared
from saccade.data.tasks.captions_settings import CaptionsSettings
from saccade.errors import need_torch
from saccade.recipe import Recipe, TaskRecipe

if TYPE_CHECKING:
    from saccade.training.lesson import Lesson
    from saccade.training.loop import Outcome
    from saccade.training.run import Run


def train(
    recipe: RecipeFile,
    overrides: Overrides = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check settings and data, count parameters, estimate memory and time; train nothing.",
        ),
    ] = False,
) -> None:
    """Train a model from a recipe, or resume training.

    The corpus is prepared first if it has not been. Ctrl-C saves a checkpoint; the same command resumes from it.

    Examples: `saccade train recipe.toml`

    `saccade train recipe.toml --set training.updates=500 --set model.layers=2`

    `saccade train recipe.toml --dry-run`
    """
    chosen = recipes.load_any(recipe, overrides or ())
    need_torch("`saccade train`")
    if dry_run:
        estimate(chosen)
    elif fit(chosen):
        note(f"Saved the run. To resume: {typed('train', recipe, overrides)}")
        raise typer.Exit(130)
    else:
        print_result(str(chosen.run / "model"))


def fit(recipe: Recipe | TaskRecipe) -> bool:
    """Prepare if need be and train to the end; True if it was interrupted. Under torchrun, only one process speaks."""
    from saccade.cli.progress import Display
    from saccade.training import machine, processes
    from saccade.training.loop import Training
    from saccade.training.run import Run, claimed

    def prepare() -> None:
        Run.open(recipe)
        _prepare(recipe)

    device = machine.use(recipe.training.device, recipe.training.threads)
    with processes.joined(device) as group, claimed(recipe.run) if group.is_first else nullcontext():
        group.first(prepare)
        run, display = Run(recipe.run, recipe), Display(recipe.training)
        try:
            outcome = Training(run, _lesson(recipe), display if group.is_first else None, group).fit()
        finally:
            display.ended()
    if not group.is_first:
        raise typer.Exit(130 if outcome.interrupted else 0)
    tell(outcome, run)
    return outcome.interrupted


def _prepare(recipe: Recipe | TaskRecipe) -> None:
    """Make what is to be learned from, where that takes time, and tell of it."""
    if isinstance(recipe, Recipe):
        show(prepared_corpus(recipe))
    elif isinstance(recipe.task, CaptionsSettings):
        _describe_images(recipe)


def _describe_images(recipe: TaskRecipe) -> None:
    """Compute the features of all images, unless they are there."""
    from saccade.lessons.captions import CaptionsLesson
    from saccade.lessons.tasks import of_recipe

    lesson = of_recipe(recipe)
    assert isinstance(lesson, CaptionsLesson)
    with bar("images") as progress:
        for split, given in (("valid", lesson.valid), ("train", lesson.train)):
            task = progress.add_task(f"features, {split}", total=len(given))
            lesson.features(split, lambda done, task=task: progress.update(task, completed=done))  # type: ignore[misc]


def _lesson(recipe: Recipe | TaskRecipe) -> "Lesson":
    """What is to be learned; it has been prepared."""
    if isinstance(recipe, Recipe):
        from saccade.lessons.pairs import Pairs

        return Pairs(recipe, Prepared.open(corpus_directory(recipe)))
    from saccade.lessons import tasks

    return tasks.of_recipe(recipe)


def tell(outcome: "Outcome", run: "Run") -> None:
    """How a training ended."""
    done = outcome.progress
    if outcome.interrupted:
        note(f"Interrupted after update {done.update:,}.")
        return
    if done.update < run.recipe.training.updates:
        note(f"Stopped early: no improvement in the last {done.stale} validations (training.patience).")
    note(
        f"{done.update:,} updates in {done.seconds / 60:.1f} minutes of training. "
        f"Saved the model (update {done.best_update:,}) to {run.model}."
    )


def estimate(recipe: Recipe | TaskRecipe) -> None:
    """Try a few updates and a validation, and print what the whole training needs. Only the corpus is saved."""
    from saccade.training import machine, processes
    from saccade.training.estimate import estimate as measured
    from saccade.training.loop import Training
    from saccade.training.run import Run

    with processes.joined(machine.use(recipe.training.device, recipe.training.threads)) as group:
        group.first(lambda: _prepare(recipe))
        needs = measured(Training(Run(recipe.run, recipe), _lesson(recipe), processes=group))
    if not group.is_first:
        return
    updates, every = recipe.training.updates, recipe.training.validate_every
    epochs = f", about {needs.epochs:.1f} epochs" if isinstance(recipe, Recipe) else ""
    minutes = needs.seconds_per_update * updates / 60
    duration = f"{minutes:.1f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
    memory = (
        "Memory is not measured on this system"
        if needs.peak_bytes is None
        else (f"{needs.peak_bytes / 2**30:.1f} GiB of memory at most")
    )
    print_result(
        f"Settings and data OK\n"
        f"{needs.num_parameters:,} parameters\n"
        f"{updates:,} updates{epochs}\n"
        f"{needs.seconds_per_update:.2f} s per update: about {duration}\n"
        f"{math.ceil(updates / every):,} validations of at most {needs.seconds_per_validation:.1f} s each\n"
        f"{memory}"
    )
