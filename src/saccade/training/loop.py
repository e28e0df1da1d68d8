"""The training loop: updates made, validated and saved; stopped at any moment, it resumes where it was."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType

from torch import nn

from saccade.data.loader import Loaded
from saccade.errors import CheckpointError, DataError, TrainingError
from saccade.models.fill import fill
from saccade.nn.machine import release_freed_memory
from saccade.training import checkpoint, sharding
from saccade.training.checkpoint import Checkpoint, CheckpointWriter, Progress, parameters
from saccade.training.processes import Processes
from saccade.training.reporter import Reporter
from saccade.training.run import Metrics, Run
from saccade.training.task import Task, Validation
from saccade.training.updates import Update, Updates


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended."""

    progress: Progress
    interrupted: bool


class Training(Updates):
    """Updates that are validated, saved, resumed and reported; all that by the first of several processes."""

    task: Task

    def __init__(
        self, run: Run, task: Task, reporter: Reporter | None = None, processes: Processes | None = None
    ) -> None:
        super().__init__(task, run.recipe.training, processes)
        self.run = run
        self.reporter = reporter or Reporter()
        self.skipped_in_a_row = 0
        self.metrics: Metrics | None = None  # the first process has them, while it trains in earnest
        self.writer = CheckpointWriter(run.checkpoints, self.settings)

    def fit(self) -> Outcome:
        """Train until the updates are done, patience ends or someone interrupts."""
        self._resume()
        batches = self.batches(self.progress.position)
        stopped = False
        with _interruptible(alone=self.processes.world == 1) as interrupted, self.writer:
            while self.progress.update < self.settings.updates and not self._out_of_patience() and not stopped:
                self._note(self.update(batches))
                if self._due(self.settings.validate_every):
                    self._validate()
                if self._due(self.settings.checkpoint_every):
                    self._save()
                self.writer.check()
                stopped = self.processes.any(interrupted())
            if not stopped:
                self._finish()
            self._save()
        if self.metrics is not None:
            self.metrics.close()
        return Outcome(self.progress, interrupted=stopped)

    def trial(self, batches: Sequence[Loaded]) -> float:
        """Seconds per update, measured on these batches; nothing is saved or logged."""
        before, number, stream = self.progress.seconds, len(batches) // self.settings.accumulate, iter(batches)
        for _ in range(number):
            self.update(stream)
        return (self.progress.seconds - before) / number

    def parameters(self) -> checkpoint.Arrays:
        """What a model is saved with, as it is now, gathered from all processes if it is sharded."""
        if self.is_sharded:
            return sharding.gathered(self.model, self.processes)
        return parameters(self.adaptation.stored)

    def snapshot(self) -> checkpoint.Snapshot:
        """A copy of what a checkpoint holds."""
        return checkpoint.snapshot(self.adaptation.trained, self.optimizer, self.progress)

    def measure(self, values: checkpoint.Arrays) -> Validation:
        """Validate the model, which has these parameters."""
        model = self._with(values) if self.is_sharded and self.processes.is_first else self.model
        figures = self.processes.first(lambda: asdict(self._judge(model)))
        return Validation(**figures | {"sample": tuple(figures["sample"])})

    def _resume(self) -> None:
        found, damaged = self._newest()
        if found is not None:
            if found.progress.corpus != self.progress.corpus:
                raise DataError(
                    f"The run in {self.run.path} learned from another corpus than the one prepared now: its files "
                    "have changed since. Restore them to resume it, or give the recipe another `run` directory."
                )
            restore = sharding.restore if self.is_sharded else Checkpoint.restore
            restore(found, self.adaptation.trained, self.optimizer)
            self.adaptation.restored()
            self.progress = found.progress
        self.processes.any(False)  # nothing is written before all have read
        if self.processes.is_first:
            self.metrics = Metrics(self.run.path, self.progress, tensorboard=self.settings.tensorboard)
        self.reporter.started(self.model, self.progress, damaged)

    def _newest(self) -> tuple[Checkpoint | None, list[CheckpointError]]:
        """Where to go on from, as the first process found it, and the damaged checkpoints that it passed over."""
        found, damaged = self.run.newest() if self.processes.is_first else (None, [])
        path = self.processes.first(lambda: None if found is None else str(found.path))
        if path is not None and found is None:
            found = checkpoint.check(Path(path))
        return found, damaged

    def _note(self, update: Update) -> None:
        """Report an update, or that it was skipped and which examples it was made of."""
        if update.skipped:
            self._note_skipped(update)
            return
        self.skipped_in_a_row = 0
        self.reporter.updated(self.progress, update.loss, update.rate)
        if self.metrics is not None and self._due(self.settings.log_every):
            self.metrics.log(
                self.progress.update,
                epoch=self.progress.position.epoch,
                loss=round(update.loss, 5),
                learning_rate=update.rate,
                tokens=self.progress.tokens,
                seconds=round(self.progress.seconds, 2),
            )

    def _note_skipped(self, update: Update) -> None:
        self.skipped_in_a_row += 1
        places = [self.task.place(row) for row in update.skipped]
        if self.metrics is not None:
            self.metrics.log(self.progress.update, skipped=self.progress.skipped, places=places)
        self.reporter.skipped(self.progress, places)
        if self.skipped_in_a_row >= self.settings.max_skipped:
            raise TrainingError(
                f"The loss and its gradients must be finite, but in the last {self.skipped_in_a_row} updates "
                f"(training.max_skipped) they were not. Look at the lines that metrics.jsonl in {self.run.path} names, "
                "or start in another `run` directory with a lower training.learning_rate or a longer training.warmup."
            )

    def _validate(self) -> None:
        update, before = self.progress.update, self.progress.best
        with self.adaptation.finished():
            values = self.parameters()
            validation = self.measure(values)
            is_best = self._is_best(validation)
            if is_best:
                self._keep_as_best(validation, values, f"update {update:,}")
        worth = validation.worth(self.settings.best_by)
        stale = 0 if self.progress.best != before else self.progress.stale + 1
        self.progress = replace(self.progress, validated=update, worth=worth, stale=stale)
        if self.metrics is not None:
            self.metrics.log(update, **validation.logged)
        self.reporter.validated(validation, is_best)

    def _judge(self, model: nn.Module) -> Validation:
        """Validation needs other blocks of memory than updates, in other threads. Were both kept, they would add up."""
        release_freed_memory()
        try:
            return self.task.validate(model, self.progress.update)
        finally:
            release_freed_memory()

    def _with(self, values: checkpoint.Arrays) -> nn.Module:
        """A model like this one, whole and by itself, with these parameters."""
        model = self.task.build().to(self.device)
        fill(model, values, origin="this run")
        return model

    def _is_best(self, validation: Validation) -> bool:
        """Among equals the later one is preferred, though it is no reason for patience."""
        return self.progress.best is None or validation.worth(self.settings.best_by) >= self.progress.best

    def _keep_as_best(self, validation: Validation, values: checkpoint.Arrays, origin: str) -> None:
        best = validation.worth(self.settings.best_by)
        self.progress = replace(self.progress, best=best, best_update=validation.update)
        story = (
            f"Parameters of {origin}, after {self.progress.seconds / 60:.1f} minutes of training on "
            f"{self.progress.tokens:,} targets.\nOn the validation set: {validation.figures}."
        )
        if self.processes.is_first:
            self.task.save(self.run.model, values, story)

    def _save(self) -> None:
        """Copy what a checkpoint holds, and have it written while the training goes on."""
        self.writer.join()  # so that there is one copy at a time
        if self.metrics is not None:
            self.metrics.sync()
        if self.is_sharded:  # then the processes wait for each other
            snapshot = self.snapshot()
            written = sharding.write(self.run.checkpoints, snapshot, self.processes)
            if self.processes.is_first:
                checkpoint.prune(self.run.checkpoints, written, self.settings)
        elif self.processes.is_first:
            self.writer.start(self.snapshot())

    def _finish(self) -> None:
        """A last validation, and the average of the last checkpoints, which is kept if it is better still."""
        if self.progress.validated != self.progress.update:
            self._validate()
        if not self._due(self.settings.checkpoint_every):
            self._save()
        self.processes.first(self._average)

    def _average(self) -> None:
        self.writer.join()
        spacing = self.settings.checkpoint_every
        last = checkpoint.last(self.run.checkpoints, self.settings.average, spacing=spacing)
        if len(last) < 2:
            return
        averaged = checkpoint.average(last)
        merged = self.adaptation.merge(averaged)
        validation = self._judge(self._with(merged))
        is_best = self._is_best(validation)
        if is_best:
            stored = averaged if self.adaptation.stored is not self.model else merged
            self._keep_as_best(validation, stored, f"{len(last)} checkpoints, averaged")
        self.reporter.averaged(validation, len(last), is_best)

    def _due(self, every: int) -> bool:
        return self.progress.update % every == 0

    def _out_of_patience(self) -> bool:
        return 0 < self.settings.patience <= self.progress.stale


@contextmanager
def _interruptible(*, alone: bool) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a question that the loop asks; a second one acts at once."""
    # Not so where torchrun passes on a signal that has come already: it kills by itself what takes too long.
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked and alone:
            raise KeyboardInterrupt
        asked = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
