"""The training loop: batches in, updates made, validated, saved; stopped at any moment, it goes on where it was."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from saccade import settings
from saccade.data.batch import Batch, collate
from saccade.data.prepare import Prepared
from saccade.data.sampler import Indices, Position, Sampler
from saccade.directory import ModelDirectory
from saccade.engines.torch import fill
from saccade.errors import CheckpointError, DataError, ModelError, SettingsError
from saccade.models.build import Model, build
from saccade.models.settings import RecurrentSettings
from saccade.nn import dropout
from saccade.protocol import Learned
from saccade.training import checkpoint, machine
from saccade.training.checkpoint import Progress, parameters
from saccade.training.loss import log_probs, smoothed_loss_chunked
from saccade.training.metrics import Metrics
from saccade.training.reinforce import moved, reinforce
from saccade.training.run import Run
from saccade.training.schedule import inverse_sqrt, linear, paper_rate
from saccade.training.validation import Validation, Validator
from saccade.training.writer import Writer


@runtime_checkable  # so that the shape checks of the tests can look at it
class Reporter(Protocol):
    """Whoever watches a training: a progress display, a log, a test."""

    def started(self, model: Model, progress: Progress, passed_over: list[CheckpointError]) -> None: ...
    def updated(self, progress: Progress, loss: float, rate: float) -> None: ...
    def validated(self, validation: Validation, is_best: bool) -> None: ...
    def averaged(self, validation: Validation, num_checkpoints: int, is_best: bool) -> None: ...


class Silent:
    """Nobody watches."""

    def started(self, model: Model, progress: Progress, passed_over: list[CheckpointError]) -> None: ...
    def updated(self, progress: Progress, loss: float, rate: float) -> None: ...
    def validated(self, validation: Validation, is_best: bool) -> None: ...
    def averaged(self, validation: Validation, num_checkpoints: int, is_best: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended."""

    progress: Progress
    interrupted: bool


class Training:
    """A model on its way: what changes from update to update, and the steps it takes."""

    def __init__(self, run: Run, prepared: Prepared, reporter: Reporter | None = None) -> None:
        self.run, self.prepared = run, prepared
        self.reporter = reporter or Silent()
        self.settings = run.recipe.training
        self.device = machine.use(self.settings.device, self.settings.threads)
        dropout.seed(self.settings.seed)  # before the parameters are drawn
        self.model = self._built().to(self.device)
        first, second = self.settings.adam_betas
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), betas=(first, second), eps=self.settings.adam_epsilon, fused=True
        )
        self.highest_rate = self.settings.learning_rate or paper_rate(run.recipe.model.d_model, self.settings.warmup)
        self.validate = Validator(
            prepared.valid_examples, prepared.tokenizers, run.recipe.data.target_language, self.settings
        )
        self.sampler = Sampler(prepared.train.lengths, max_tokens=self.settings.batch_tokens, seed=self.settings.seed)
        self.progress = Progress(prepared.digest)
        self.writer = Writer(run.checkpoints, self.settings)

    def fit(self) -> Outcome:
        """Train until the updates are done, patience ends or someone interrupts."""
        self._resume()
        batches = self.sampler.batches(self.progress.position)
        with _interruptible() as interrupted, self.writer:
            while self.progress.update < self.settings.updates and not self._out_of_patience():
                self._note(*self._update(batches))
                if self._due(self.settings.validate_every):
                    self._validate()
                if self._due(self.settings.checkpoint_every):
                    self._save()
                self.writer.check()
                if interrupted():
                    break
            if not interrupted():
                self._finish()
            self._save()
        self.metrics.close()
        return Outcome(self.progress, interrupted=interrupted())

    def trial(self, updates: int) -> float:
        """Seconds an update takes, tried on the first batches; nothing is saved or logged."""
        batches = self.sampler.batches(Position())
        self._update(batches)  # the first one also warms up
        before = self.progress.seconds
        for _ in range(updates):
            self._update(batches)
        return (self.progress.seconds - before) / updates

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the corpus is cut into."""
        return len(self.sampler.epoch(0))

    def _built(self) -> Model:
        tokenizers, recipe = self.prepared.tokenizers, self.run.recipe
        model = build(recipe.model, len(tokenizers.source), len(tokenizers.target))
        if path := self.settings.warm_start:
            given = ModelDirectory.open(path)
            if given.tokenizers.checksums != tokenizers.checksums:
                raise ModelError(
                    f"A warm start needs the tokenizers that {path} was trained with, but the corpus was encoded "
                    "with others. Prepare it again with the same `training.warm_start`."
                )
            self._check_same_make(given)
            fill(model, given.parameters(), origin=str(path))
        return model

    def _check_same_make(self, given: ModelDirectory) -> None:
        """A warm start may change how much is dropped, but not what there is to be learned."""
        changes = settings.differences(given.description.model, self.run.recipe.model)
        changes = [change for change in changes if "dropout" not in change]
        if changes:
            raise SettingsError(
                f"A warm start needs the [model] settings of {given.path}, but here they are others. "
                "Take its settings over, or train from the beginning",
                [f"model.{change}" for change in changes],
            )

    def _resume(self) -> None:
        found, damaged = self.run.newest()
        if found is not None:
            if found.progress.corpus != self.progress.corpus:
                raise DataError(
                    f"The run in {self.run.path} learned from another corpus than the one prepared now: its files "
                    "have changed since. Put them back to go on with it, or give the recipe another `run` directory."
                )
            found.restore(self.model, self.optimizer)
            self.progress = found.progress
        self.metrics = Metrics(self.run.path, self.progress, tensorboard=self.settings.tensorboard)
        self.reporter.started(self.model, self.progress, damaged)

    def _update(self, batches: Iterator[tuple[Position, Indices]]) -> tuple[float, float]:
        """One step of the optimizer, on the gradients of one batch or of several; its loss and learning rate."""
        began = time.perf_counter()
        number = self.progress.update + 1
        dropout.seed(self.settings.seed, number)
        rate = self._rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

        position, collated = self._collated(batches)
        num_tokens = sum(int(batch.target_mask.sum()) for batch in collated)
        self.model.train()
        self.optimizer.zero_grad()
        loss = sum(self._learn(batch, num_tokens) for batch in collated)
        if self.settings.clip_norm:
            clip_grad_norm_(self.model.parameters(), self.settings.clip_norm)
        self.optimizer.step()

        self.progress = replace(
            self.progress,
            update=number,
            position=position,
            tokens=self.progress.tokens + num_tokens,
            seconds=self.progress.seconds + time.perf_counter() - began,
        )
        return loss, rate

    def _rate(self, update: int) -> float:
        highest, warmup = self.highest_rate, self.settings.warmup
        if self.settings.schedule == "linear":
            return linear(update, highest=highest, warmup=warmup, updates=self.settings.updates)
        return inverse_sqrt(update, highest=highest, warmup=warmup)

    def _collated(self, batches: Iterator[tuple[Position, Indices]]) -> tuple[Position, list[Batch]]:
        collated = []
        for _ in range(self.settings.accumulate):
            position, rows = next(batches)
            sources, targets = zip(*(self.prepared.train[row] for row in rows.tolist()), strict=True)
            collated.append(collate(sources, targets).to(self.device))
        return position, collated

    def _learn(self, batch: Batch, num_tokens: int) -> float:
        """Add up a batch's gradients, and return its loss: per token of the update, without what chance adds to it."""
        learned = self.model.learn(batch)
        hidden, target = learned.hidden[batch.target_mask], batch.target[batch.target_mask]  # padding is left out
        loss = smoothed_loss_chunked(hidden, self.model.output_weight, target, self.settings.label_smoothing)
        wanted = loss if learned.log_prob is None else loss + self._reinforced(learned, batch)
        (wanted / num_tokens).backward()  # type: ignore[no-untyped-call]
        return loss.item() / num_tokens

    def _reinforced(self, learned: Learned, batch: Batch) -> Tensor:
        """What choices by chance add to the loss. Before there is a baseline, a batch is held against its own mean."""
        rewards = log_probs(learned.hidden, self.model.output_weight, batch.target, batch.target_mask)
        baseline = float(rewards.mean()) if self.progress.baseline is None else self.progress.baseline
        self.progress = replace(self.progress, baseline=moved(self.progress.baseline, rewards))
        model = self.run.recipe.model
        assert isinstance(model, RecurrentSettings), "no other kind leaves anything to chance"
        shares = {"reward": model.attention.reward, "entropy": model.attention.entropy}
        return reinforce(learned, batch.target_mask, rewards, baseline, **shares)

    def _note(self, loss: float, rate: float) -> None:
        self.reporter.updated(self.progress, loss, rate)
        if self._due(self.settings.log_every):
            self.metrics.log(
                self.progress.update,
                epoch=self.progress.position.epoch,
                loss=round(loss, 5),
                learning_rate=rate,
                tokens=self.progress.tokens,
                seconds=round(self.progress.seconds, 2),
            )

    def _validate(self) -> None:
        validation = self.validate(self.model, self.progress.update)
        before = self.progress.best
        is_best = self._is_best(validation)
        if is_best:
            self._keep_as_best(validation, parameters(self.model), f"update {self.progress.update:,}")
        worth = validation.worth(self.settings.best_by)
        stale = 0 if self.progress.best != before else self.progress.stale + 1
        self.progress = replace(self.progress, validated=validation.update, worth=worth, stale=stale)
        self.metrics.log(validation.update, valid_loss=round(validation.loss, 5), valid_bleu=round(validation.bleu, 3))
        self.reporter.validated(validation, is_best)

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
            f"{self.progress.tokens:,} target tokens.\n"
            f"On the validation set: BLEU {validation.bleu:.2f} (beam {self.settings.validation_beam}), "
            f"perplexity {validation.perplexity:.3f} per token."
        )
        self.run.save_model(values, self.prepared, story)

    def _save(self) -> None:
        """Copy what a checkpoint holds, and have it written while the training goes on."""
        self.writer.join()  # so that there is one copy at a time
        self.metrics.sync()
        self.writer.start(checkpoint.snapshot(self.model, self.optimizer, self.progress))

    def _finish(self) -> None:
        """A last validation, and the average of the last checkpoints, which is kept if it is better still."""
        if self.progress.validated != self.progress.update:
            self._validate()
        if not self._due(self.settings.checkpoint_every):
            self._save()
        self.writer.join()
        spacing = self.settings.checkpoint_every
        last = checkpoint.last(self.run.checkpoints, self.settings.average, spacing=spacing)
        if len(last) < 2:
            return
        own = {name: values.copy() for name, values in parameters(self.model).items()}
        averaged = checkpoint.average(last)
        fill(self.model, averaged, origin="the averaged checkpoints")
        validation = self.validate(self.model, self.progress.update)
        fill(self.model, own, origin="this run")
        is_best = self._is_best(validation)
        if is_best:
            self._keep_as_best(validation, averaged, f"{len(last)} checkpoints, averaged")
        self.reporter.averaged(validation, len(last), is_best)

    def _due(self, every: int) -> bool:
        return self.progress.update % every == 0

    def _out_of_patience(self) -> bool:
        return 0 < self.settings.patience <= self.progress.stale


@contextmanager
def _interruptible() -> Iterator["Interrupted"]:
    """Turn the first Ctrl-C or SIGTERM into a question that the loop asks; a second one acts at once."""
    asked = Interrupted()
    before = {number: signal.signal(number, asked.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupted:
    """Whether someone has asked to stop."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    def note(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
