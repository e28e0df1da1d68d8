"""`saccade train`: a recipe in, a model out."""

import math
from typing import Annotated

import typer

import saccade
from saccade import Recipe
from saccade.cli.console import note, print_result
from saccade.cli.options import Overrides, RecipeFile, option, typed
from saccade.cli.progress import Display
from saccade.errors import need_torch


def train(
    recipe: RecipeFile,
    overrides: Overrides = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Check settings and data, estimate size, memory and time; train nothing.")
    ] = False,
) -> None:
    """Train a model from a recipe, or resume a training that was interrupted.

    The data is prepared first if it has not been. Ctrl-C saves a checkpoint; the same command resumes from it.

    Examples: `saccade train recipe.toml`

    `saccade train recipe.toml --set training.updates=500 --set model.layers=2`

    `saccade train recipe.toml --dry-run`
    """
    chosen = Recipe.load(recipe, overrides or ())
    need_torch("`saccade train`")
    if dry_run:
        _show_estimate(chosen)
        return
    result = run_training(chosen)
    if not result.is_first:
        raise typer.Exit(130 if result.interrupted else 0)
    if result.interrupted:
        note(f"Saved the run. To resume: {typed('train', recipe, overrides)}")
        raise typer.Exit(130)
    print_result(str(result.model))


def run_training(recipe: Recipe) -> "saccade.TrainingResult":
    """Train with a display, and say how it ended."""
    display = Display(recipe.training)
    try:
        result = saccade.train(recipe, reporter=display)
    finally:
        display.ended()
    if not result.is_first:
        return result
    if result.interrupted:
        note(f"Interrupted after update {result.update:,}.")
        return result
    if result.stopped_early:
        note(f"Stopped early: no improvement in the last {result.stale} validations (training.patience).")
    note(
        f"{result.update:,} updates in {result.seconds / 60:.1f} minutes of training. "
        f"Saved the model (update {result.best_update:,}) to {result.model}."
    )
    return result


def _show_estimate(recipe: Recipe) -> None:
    display = Display(recipe.training)
    try:
        estimate = saccade.estimate(recipe, reporter=display)
    finally:
        display.close()
    if estimate.is_first:
        print_result(_in_words(recipe, estimate))


def _in_words(recipe: Recipe, estimate: "saccade.TrainingEstimate") -> str:
    updates, every = recipe.training.updates, recipe.training.validate_every
    epochs = "" if estimate.epochs is None else f", about {estimate.epochs:.1f} epochs"
    minutes = estimate.seconds_per_update * updates / 60
    duration = f"{minutes:.1f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"
    peak = estimate.peak_bytes
    return (
        f"Settings and data OK\n"
        f"{estimate.num_parameters:,} parameters\n"
        f"{updates:,} updates{epochs}\n"
        f"{estimate.seconds_per_update:.2f} s per update: about {duration}\n"
        f"{math.ceil(updates / every):,} validations of at most {estimate.seconds_per_validation:.1f} s each\n"
        + ("Memory is not measured on this system" if peak is None else f"{peak / 2**30:.1f} GiB of memory at most")
    )
