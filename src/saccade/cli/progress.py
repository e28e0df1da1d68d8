"""The display of a training: a bar where a person watches, a line a minute where a file is written."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.progress import TaskID

from saccade.cli.console import Bar, note, note_indented, stderr
from saccade.cli.prepare import PreparationDisplay
from saccade.errors import CheckpointError

if TYPE_CHECKING:
    from torch import nn

    from saccade.training.checkpoint import Progress as TrainingProgress
    from saccade.training.settings import TrainingSettings
    from saccade.training.task import Validation

SECONDS_BETWEEN_LINES = 60.0
SECONDS_OF_RATES = 30.0
"""Rates are measured over so long, at least."""


class Display(PreparationDisplay):
    """Reports a training to a person."""

    settings: "TrainingSettings"

    def __init__(self, settings: "TrainingSettings | None" = None, clock: Callable[[], float] = time.monotonic) -> None:
        """The settings must be there when training starts."""
        super().__init__()
        if settings is not None:
            self.settings = settings
        self.clock = clock
        self.bar = Bar("", disable=not stderr.is_terminal)
        self.task: TaskID | None = None
        self.rates: tuple[str, ...] = ()
        self.best = ""
        self.measured_from = (0, 0.0, 0)
        self.loss = 0.0
        self.last_line = -SECONDS_BETWEEN_LINES

    def started(self, model: "nn.Module", progress: "TrainingProgress", damaged: list[CheckpointError]) -> None:
        for error in damaged:
            note(f"warning: {error} Skipping it.")
        num_parameters = sum(parameter.numel() for parameter in model.parameters())
        note(f"{num_parameters:,} parameters, {self.settings.updates:,} updates")
        if progress.update >= self.settings.updates:
            note(f"Already finished. Raise training.updates to continue: --set training.updates={2 * progress.update}")
        elif progress.update:
            note(f"Resuming from update {progress.update:,}.")
        if progress.best is not None:
            self.best = f"best {abs(progress.best):.2f}"
        self.measured_from = (progress.update, progress.seconds, progress.tokens)
        self.task = self.bar.add_task("update", total=self.settings.updates, completed=progress.update)
        self.bar.start()

    def updated(self, progress: "TrainingProgress", loss: float, rate: float) -> None:
        self.loss = loss if not self.loss else 0.98 * self.loss + 0.02 * loss
        update, seconds, tokens = self.measured_from
        elapsed = progress.seconds - seconds
        if elapsed < 1.0 and progress.update % self.settings.log_every:
            return
        self.rates = (
            f"{(progress.update - update) / elapsed:.1f} updates/s",
            f"{(progress.tokens - tokens) / elapsed:,.0f} tokens/s",
        )
        self._show(progress.update)
        if not stderr.is_terminal and self.clock() - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            figures = "  ".join((*self._figures(), f"rate {rate:.2e}"))
            note(f"update {progress.update:,}/{self.settings.updates:,}  {figures}")
        if elapsed > SECONDS_OF_RATES:
            self.measured_from = (progress.update, progress.seconds, progress.tokens)

    def skipped(self, progress: "TrainingProgress", places: list[str]) -> None:
        more = f" and {len(places) - 5:,} more, see metrics.jsonl" if len(places) > 5 else ""
        note(
            f"warning: Skipped update {progress.update:,}: its loss or gradients are not finite. "
            f"Its examples are {', '.join(places[:5])}{more}."
        )

    def validated(self, validation: "Validation", is_best: bool) -> None:
        if is_best:
            self.best = (
                f"best loss {validation.loss:.3f}"
                if self.settings.best_by == "loss"
                else f"best {validation.measure} {validation.quality:.2f}"
            )
        self._show(validation.update)
        note(
            f"{time.strftime('%H:%M:%S')}  update {validation.update:,}: {validation.figures}"
            f"{', the best so far' if is_best else ''}"
        )
        note_indented(validation.sample[0])
        note_indented(validation.sample[1], "→ ")

    def averaged(self, validation: "Validation", num_checkpoints: int, is_best: bool) -> None:
        verdict = "kept, as it is at least as good as the best" if is_best else "not kept, as the best is better"
        note(f"Average of {num_checkpoints} checkpoints: {validation.figures}; {verdict}.")

    def ended(self) -> None:
        self.close()
        self.bar.stop()

    def _show(self, update: int) -> None:
        assert self.task is not None
        self.bar.update(self.task, completed=update, figures=self._figures())

    def _figures(self) -> tuple[str, ...]:
        """The most important first."""
        return tuple(figure for figure in (f"loss {self.loss:.3f}", self.best, *self.rates) if figure)
