"""The display of a training: a line that moves where a person watches, plain lines where a file is written."""

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from saccade.cli.console import note, stderr
from saccade.cli.prepare import PreparationDisplay
from saccade.errors import CheckpointError

if TYPE_CHECKING:
    from torch import nn

    from saccade.training.checkpoint import Progress as TrainingProgress
    from saccade.training.settings import TrainingSettings
    from saccade.training.task import Validation


class Display(PreparationDisplay):
    """Reports a training to a person."""

    def __init__(self, settings: "TrainingSettings") -> None:
        super().__init__()
        self.settings = settings
        self.bar = Progress(
            TextColumn("update {task.completed:,}/{task.total:,}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=stderr,
            disable=not stderr.is_terminal,
        )
        self.task: TaskID | None = None
        self.best = ""
        self.before = (0, 0.0, 0)
        self.loss = 0.0

    def started(self, model: "nn.Module", progress: "TrainingProgress", damaged: list[CheckpointError]) -> None:
        for error in damaged:
            note(f"warning: {error} It is passed over.")
        num_parameters = sum(parameter.numel() for parameter in model.parameters())
        note(f"{num_parameters:,} parameters, {self.settings.updates:,} updates")
        if progress.update >= self.settings.updates:
            note(
                f"All of these were made before. To train on, ask for more than {progress.update:,}: "
                f"--set training.updates={2 * progress.update}"
            )
        elif progress.update:
            note(f"Going on from update {progress.update:,}.")
        if progress.best is not None:
            self.best = f"best {abs(progress.best):.2f}"
        self.before = (progress.update, progress.seconds, progress.tokens)
        self.task = self.bar.add_task("training", total=self.settings.updates, completed=progress.update, figures="")
        self.bar.start()

    def updated(self, progress: "TrainingProgress", loss: float, rate: float) -> None:
        self.loss = loss if not self.loss else 0.98 * self.loss + 0.02 * loss
        update, seconds, tokens = self.before
        elapsed = progress.seconds - seconds
        if elapsed < 1.0 and progress.update % self.settings.log_every:
            return
        figures = (
            f"loss {self.loss:.3f}  {(progress.update - update) / elapsed:.1f} updates/s  "
            f"{(progress.tokens - tokens) / elapsed:,.0f} tokens/s  {self.best}"
        )
        assert self.task is not None
        self.bar.update(self.task, completed=progress.update, figures=figures)
        if not stderr.is_terminal and progress.update % (10 * self.settings.log_every) == 0:
            note(f"update {progress.update:,}/{self.settings.updates:,}  {figures}  rate {rate:.2e}")
        if elapsed > 30.0:
            self.before = (progress.update, progress.seconds, progress.tokens)

    def skipped(self, progress: "TrainingProgress", places: list[str]) -> None:
        more = f" and {len(places) - 5:,} more, see metrics.jsonl" if len(places) > 5 else ""
        note(
            f"warning: Update {progress.update:,} is left out: its loss or gradients are not finite. "
            f"It was made of {', '.join(places[:5])}{more}."
        )

    def validated(self, validation: "Validation", is_best: bool) -> None:
        if is_best:
            self.best = (
                f"best loss {validation.loss:.3f}"
                if self.settings.best_by == "loss"
                else f"best {validation.measure} {validation.quality:.2f}"
            )
        note(
            f"{time.strftime('%H:%M:%S')}  update {validation.update:,}: {validation.figures}"
            f"{', the best so far' if is_best else ''}"
        )
        note(f"          {validation.sample[0]}\n        → {validation.sample[1]}")

    def averaged(self, validation: "Validation", num_checkpoints: int, is_best: bool) -> None:
        verdict = (
            "as good as any of them or better, so it is kept" if is_best else "no better than the best, which is kept"
        )
        note(f"Average of {num_checkpoints} checkpoints: {validation.figures}; {verdict}.")

    def ended(self) -> None:
        self.close()
        self.bar.stop()
