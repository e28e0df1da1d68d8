"""saccade as a contestant: the training loop of `saccade train` itself, with a reporter that takes turns."""

import sys
from contextlib import nullcontext
from pathlib import Path

from benchmarks.training.twins import TRICKS
from benchmarks.training.work import DROPOUT_PLACES, TrainingWork
from benchmarks.turns import Turns
from saccade import Recipe, Reporter
from saccade.data.prepare import Prepared
from saccade.tasks.translation.settings import TranslationRecipe
from saccade.tasks.translation.task import TranslationTask
from saccade.training.checkpoint import Progress
from saccade.training.loop import Training
from saccade.training.run import Run


class TurnReporter(Reporter):
    """Waits after an update until it is this training's turn again."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._tokens = 0

    def updated(self, progress: Progress, loss: float, rate: float) -> None:
        self._turns.count_update(progress.tokens - self._tokens)
        self._tokens = progress.tokens


def main(directory: str, places: str, without: str | None = None) -> None:
    """Train endlessly; `without` is the trick that is switched off."""
    turns = Turns()
    work = TrainingWork.open(Path(directory))
    assert places in DROPOUT_PLACES
    run = work.directory / f"run {places} {without}"
    overrides = [f"run={run}", *(f"model.{name}={rate}" for name, rate in work.dropout_rates(places).items())]
    recipe = Recipe.load(work.directory / "recipe.toml", overrides)
    assert isinstance(recipe, TranslationRecipe)
    with TRICKS[without].disable() if without else nullcontext():
        task = TranslationTask(recipe, Prepared.open(work.directory / "corpus"))
        Training(Run.open(recipe), task, TurnReporter(turns)).fit()


if __name__ == "__main__":
    main(*sys.argv[1:])
