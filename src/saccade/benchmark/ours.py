"""saccade as a contestant: the training loop of `saccade train` itself, watched by a reporter that takes turns."""

import sys
from contextlib import nullcontext
from pathlib import Path

from saccade import recipe as recipes
from saccade.benchmark.tricks import TRICKS
from saccade.benchmark.turns import Turns
from saccade.benchmark.work import DROPS, Work
from saccade.data.prepare import Prepared
from saccade.tasks.translation.task import Pairs
from saccade.training.checkpoint import Progress
from saccade.training.loop import Silent, Training
from saccade.training.run import Run


class TakesTurns(Silent):
    """A reporter that waits, after an update, until it is this training's turn again."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._tokens = 0

    def updated(self, progress: Progress, loss: float, rate: float) -> None:
        self._turns.updated(progress.tokens - self._tokens)
        self._tokens = progress.tokens


def main(directory: str, drops: str, without: str | None = None) -> None:
    """Train without end; `without` is the trick that is switched off."""
    turns = Turns()
    work = Work.open(Path(directory))
    assert drops in DROPS
    run = work.directory / f"run {drops} {without}"
    overrides = [f"run={run}", *(f"model.{name}={rate}" for name, rate in work.dropout(drops).items())]
    recipe = recipes.load(work.directory / "recipe.toml", overrides)
    with TRICKS[without].off() if without else nullcontext():
        lesson = Pairs(recipe, Prepared.open(work.directory / "corpus"))
        Training(Run.open(recipe), lesson, TakesTurns(turns)).fit()


if __name__ == "__main__":
    main(*sys.argv[1:])
