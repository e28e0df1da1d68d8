"""The training loop: batches in, updates made, validated, saved; stopped at any moment, it goes on where it was."""

import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from saccade.data.loader import Loaded, ahead
from saccade.data.sampler import Indices, Position
from saccade.engines.torch import fill
from saccade.errors import CheckpointError, DataError, TrainingError
from saccade.nn import dropout
from saccade.nn.machine import release_freed_memory
from saccade.training import checkpoint, machine, sharding
from saccade.training.checkpoint import Checkpoint, Progress, parameters
from saccade.training.lesson import Lesson, Validation
from saccade.training.metrics import Metrics
from saccade.training.processes import Processes, apart
from saccade.training.run import Run
from saccade.training.schedule import inverse_sqrt, linear, paper_rate
from saccade.training.sharding import whole
from saccade.training.threads import Threads
from saccade.training.writer import Writer


@runtime_checkable  # so that the shape checks of the tests can look at it
class Reporter(Protocol):
    """Whoever watches a training: a progress display, a log, a test."""

    def started(self, model: nn.Module, progress: Progress, passed_over: list[CheckpointError]) -> None: ...
    def updated(self, progress: Progress, loss: float, rate: float) -> None: ...
    def skipped(self, progress: Progress, places: list[str]) -> None: ...
    def validated(self, validation: Validation, is_best: bool) -> None: ...
    def averaged(self, validation: Validation, num_checkpoints: int, is_best: bool) -> None: ...


class Silent:
    """Nobody watches."""

    def started(self, model: nn.Module, progress: Progress, passed_over: list[CheckpointError]) -> None: ...
    def updated(self, progress: Progress, loss: float, rate: float) -> None: ...
    def skipped(self, progress: Progress, places: list[str]) -> None: ...
    def validated(self, validation: Validation, is_best: bool) -> None: ...
    def averaged(self, validation: Validation, num_checkpoints: int, is_best: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended."""

    progress: Progress
    interrupted: bool


class Training:
    """A model on its way: what changes from update to update, and the steps it takes.

    Where several processes train it together, each has a Training of its own, and all of them do the same; the first
    one also validates, writes and reports.
    """

    def __init__(
        self, run: Run, lesson: Lesson, reporter: Reporter | None = None, processes: Processes | None = None
    ) -> None:
        self.run, self.lesson = run, lesson
        self.reporter = reporter or Silent()
        self.processes = processes or Processes()
        self.settings = run.recipe.training
        self.device = machine.use(self.settings.device, self.settings.threads)
        dropout.seed(self.settings.seed)  # before the parameters are drawn
        self.model = lesson.build().to(self.device)
        self.learner = lesson.learner(self.model)
        self.is_sharded = self.settings.shard and self.processes.world > 1
        self.together = self._together()
        self.threads = self._threads()
        first, second = self.settings.adam_betas
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(first, second), eps=self.settings.adam_epsilon, fused=True
        )
        self.highest_rate = self.settings.learning_rate or paper_rate(run.recipe.model.d_model, self.settings.warmup)
        self.progress = Progress(lesson.digest)
        self.skipped_in_a_row = 0
        self.metrics: Metrics | None = None  # the first process has them, while it trains in earnest
        self.writer = Writer(run.checkpoints, self.settings)

    def fit(self) -> Outcome:
        """Train until the updates are done, patience ends or someone interrupts."""
        self._resume()
        batches = self._batches(self.progress.position)
        stopped = False
        with _interruptible(alone=self.processes.world == 1) as interrupted, self.writer:
            while self.progress.update < self.settings.updates and not self._out_of_patience() and not stopped:
                self._note(*self._update(batches))
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
            self._update(stream)
        return (self.progress.seconds - before) / number

    def parameters(self) -> checkpoint.Arrays:
        """All parameters as they are now, gathered from all processes if they are sharded."""
        return sharding.gathered(self.model, self.processes) if self.is_sharded else parameters(self.model)

    def measure(self, values: checkpoint.Arrays) -> Validation:
        """Validate the model, which has these parameters."""
        figures = self.processes.first(
            lambda: asdict(self._judge(self._with(values) if self.is_sharded else self.model))
        )
        return Validation(**figures | {"sample": tuple(figures["sample"])})

    def _together(self) -> nn.Module:
        """The learner, whose gradients are from now on the mean over all processes."""
        if not self.is_sharded:
            return self.processes.together(self.learner, self.device)
        sharding.shard(self.learner, self.device, self.processes.world)
        sharded: nn.Module = self.learner
        return sharded

    def _threads(self) -> Threads | None:
        """Threads to share out batches among, where there is a CPU with several cores and only one process."""
        number = torch.get_num_threads()
        free = self.device.type == "cpu" and self.processes.world == 1 and not self.settings.compile
        return Threads(number) if free and number > 1 and self.lesson.is_divisible(self.model) else None

    def _resume(self) -> None:
        found, damaged = self._newest()
        if found is not None:
            if found.progress.corpus != self.progress.corpus:
                raise DataError(
                    f"The run in {self.run.path} learned from another corpus than the one prepared now: its files "
                    "have changed since. Put them back to go on with it, or give the recipe another `run` directory."
                )
            (sharding.restore if self.is_sharded else Checkpoint.restore)(found, self.model, self.optimizer)
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

    def _batches(self, start: Position) -> Iterator[Loaded]:
        batches = self.lesson.batches(start, self.processes.rank, self.processes.world)
        # On a CPU a thread that makes batches takes more from those that learn than it saves: 5 % (docs/speed.md).
        return batches if self.device.type == "cpu" else ahead(batches)

    def _update(self, batches: Iterator[Loaded]) -> tuple[float, float]:
        """One step of the optimizer, on the gradients of one batch or of several; its loss and learning rate."""
        began = time.perf_counter()
        number = self.progress.update + 1
        dropout.seed(self.settings.seed, number, self.processes.rank)
        rate = self._rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

        loaded = list(islice(batches, self.settings.accumulate))
        num_tokens = int(self.processes.sum(sum(each.batch.num_targets for each in loaded))[0])
        losses = self._learn([each.batch.to(self.device) for each in loaded], num_tokens)
        loss, baseline = self.processes.sum(sum(losses), self.learner.baseline or 0.0)
        self.progress = replace(self.progress, update=number, position=loaded[-1].position)
        if math.isfinite(loss) and math.isfinite(self._clip()):
            self.optimizer.step()
            self.skipped_in_a_row = 0
            self.progress = replace(
                self.progress,
                tokens=self.progress.tokens + num_tokens,
                baseline=None if self.learner.baseline is None else baseline / self.processes.world,
            )
        else:
            self._skip([each.rows for each in loaded], losses)
        self.progress = replace(self.progress, seconds=self.progress.seconds + time.perf_counter() - began)
        return loss, rate

    def _rate(self, update: int) -> float:
        highest, warmup = self.highest_rate, self.settings.warmup
        if self.settings.schedule == "linear":
            return linear(update, highest=highest, warmup=warmup, updates=self.settings.updates)
        return inverse_sqrt(update, highest=highest, warmup=warmup)

    def _learn(self, batches: list[Any], num_tokens: int) -> list[float]:
        """Gradients of the update's loss per token, over all processes; and each batch's own share of that loss."""
        self.together.train()
        self.optimizer.zero_grad()
        self.learner.baseline = self.progress.baseline
        losses = []
        if self.threads is not None:
            parameters, seed = list(self.model.parameters()), (self.settings.seed, self.progress.update + 1)
            return [
                self.threads.learn(self.learner, batch, parameters, 1 / num_tokens, *seed, number) / num_tokens
                for number, batch in enumerate(batches)
            ]
        for number, batch in enumerate(batches, start=1):
            with nullcontext() if number == len(batches) else apart(self.together):
                wanted, loss = self.together(batch)
                (wanted / (num_tokens / self.processes.world)).backward()  # the processes' gradients are averaged
            losses.append(loss.item() / num_tokens)
        return losses

    def _clip(self) -> float:
        """The norm of all gradients, which are then scaled down if it is too large."""
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = whole(get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None]))
        if self.settings.clip_norm:
            clip_grads_with_norm_(parameters, self.settings.clip_norm, norm)
        return norm.item()

    def _skip(self, rows: list[Indices], losses: list[float]) -> None:
        """Leave out an update that would spoil the parameters, and say which examples it was made of: those of the
        batches whose loss is not finite, or all of them.
        """
        self.skipped_in_a_row += 1
        self.progress = replace(self.progress, skipped=self.progress.skipped + 1)
        spoilt = [batch for batch, loss in zip(rows, losses, strict=True) if not math.isfinite(loss)]
        found = self.processes.gather([row for batch in spoilt for row in batch.tolist()])
        found = found or self.processes.gather([row for batch in rows for row in batch.tolist()])
        places = [self.lesson.place(row) for row in found]
        if self.metrics is not None:
            self.metrics.log(self.progress.update, skipped=self.progress.skipped, places=places)
        self.reporter.skipped(self.progress, places)
        if self.skipped_in_a_row >= self.settings.max_skipped:
            raise TrainingError(
                f"The loss and its gradients must be finite numbers, but in the last {self.skipped_in_a_row} updates "
                "(training.max_skipped) they were not. These were left out, and the checkpoints are sound. "
                f"metrics.jsonl in {self.run.path} names the lines that they were made of: look at these, or start "
                "again in another `run` directory, with a lower training.learning_rate or a longer training.warmup."
            )

    def _note(self, loss: float, rate: float) -> None:
        if not math.isfinite(loss):
            return
        self.reporter.updated(self.progress, loss, rate)
        if self.metrics is not None and self._due(self.settings.log_every):
            self.metrics.log(
                self.progress.update,
                epoch=self.progress.position.epoch,
                loss=round(loss, 5),
                learning_rate=rate,
                tokens=self.progress.tokens,
                seconds=round(self.progress.seconds, 2),
            )

    def _validate(self) -> None:
        update = self.progress.update
        values = self.parameters()
        validation = self.measure(values)
        before = self.progress.best
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
            return self.lesson.validate(model, self.progress.update)
        finally:
            release_freed_memory()

    def _with(self, values: checkpoint.Arrays) -> nn.Module:
        """A model like this one, whole and by itself, with these parameters."""
        model = self.lesson.build().to(self.device)
        fill(model, values, origin="this run")
        return model

    def _is_best(self, validation: Validation) -> bool:
        """Among equals the later one is preferred, though it is no reason for patience."""
        return self.progress.best is None or validation.worth(self.settings.best_by) >= self.progress.best

    def _keep_as_best(self, validation: Validation, values: checkpoint.Arrays, origin: str) -> None:
        self.progress = replace(
            self.progress,
            best=validation.worth(self.settings.best_by),
            best_update=validation.update,
        )
        story = (
            f"Parameters of {origin}, after {self.progress.seconds / 60:.1f} minutes of training on "
            f"{self.progress.tokens:,} targets.\nOn the validation set: {validation.figures}."
        )
        if self.processes.is_first:
            self.lesson.save(self.run.model, values, story)

    def _save(self) -> None:
        """Copy what a checkpoint holds, and have it written while the training goes on."""
        self.writer.join()  # so that there is one copy at a time
        if self.metrics is not None:
            self.metrics.sync()
        if self.is_sharded:  # then the processes wait for each other
            snapshot = checkpoint.snapshot(self.model, self.optimizer, self.progress)
            written = sharding.write(self.run.checkpoints, snapshot, self.processes)
            if self.processes.is_first:
                checkpoint.prune(self.run.checkpoints, written, self.settings)
        elif self.processes.is_first:
            self.writer.start(checkpoint.snapshot(self.model, self.optimizer, self.progress))

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
        validation = self._judge(self._with(averaged))
        is_best = self._is_best(validation)
        if is_best:
            self._keep_as_best(validation, averaged, f"{len(last)} checkpoints, averaged")
        self.reporter.averaged(validation, len(last), is_best)

    def _due(self, every: int) -> bool:
        return self.progress.update % every == 0

    def _out_of_patience(self) -> bool:
        return 0 < self.settings.patience <= self.progress.stale


@contextmanager
def _interruptible(*, alone: bool) -> Iterator["Interrupted"]:
    """Turn the first Ctrl-C or SIGTERM into a question that the loop asks; a second one acts at once.

    Not so where torchrun passes on a signal that has come already: it kills by itself what takes too long.
    """
    asked = Interrupted(alone)
    before = {number: signal.signal(number, asked.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupted:
    """Whether someone has asked to stop."""

    def __init__(self, alone: bool) -> None:
        self._alone = alone
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    def note(self, number: int, frame: FrameType | None) -> None:
        if self._asked and self._alone:
            raise KeyboardInterrupt
        self._asked = True
