"""One update after another: batches in, parameters changed. Validation and checkpoints are training/loop.py's."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from saccade.data.loader import Loaded, ahead
from saccade.data.sampler import Position
from saccade.errors import TrainingError
from saccade.nn import dropout
from saccade.training import machine, sharding
from saccade.training.checkpoint import Progress
from saccade.training.processes import Processes, apart
from saccade.training.schedule import inverse_sqrt, linear, paper_rate, trapezoidal
from saccade.training.settings import TrainingSettings
from saccade.training.sharding import whole
from saccade.training.task import Learnable
from saccade.training.threads import Threads


@dataclass(frozen=True, slots=True)
class Update:
    """What came of one update."""

    loss: float  # per target, over all processes
    rate: float  # the learning rate
    skipped: tuple[int, ...] = ()
    """Of an update that was skipped, the examples of the batches whose loss is not finite, or else of all of them."""


class Updates:
    """A model in training: what changes from update to update."""

    # Where several processes train it together, each has its own `Updates`, and all of them do the same.

    def __init__(self, task: Learnable, settings: TrainingSettings, processes: Processes | None = None) -> None:
        self.task, self.settings = task, settings
        self.processes = processes or Processes()
        self.device = machine.use(settings.device, settings.threads)
        dropout.seed(settings.seed)  # before the parameters are drawn
        self.model = task.build().to(self.device)
        self.learner = task.learner(self.model)
        self.adaptation = self.learner.adaptation
        self.is_sharded = settings.shard and self.processes.world > 1
        self.together = self._together()
        self.threads = self._threads()
        first, second = settings.adam_betas
        parameters, epsilon = self.adaptation.trained.parameters(), settings.adam_epsilon
        self.optimizer = torch.optim.Adam(parameters, betas=(first, second), eps=epsilon, fused=True)
        self.highest_rate = settings.learning_rate or paper_rate(task.d_model, settings.warmup)
        self.progress = Progress(task.digest)

    def batches(self, start: Position) -> Iterator[Loaded]:
        """Those of this process, without end, from a position on."""
        batches = self.task.batches(start, self.processes.rank, self.processes.world)
        # On a CPU a thread that makes batches takes more from those that learn than it saves: 5 % (docs/speed.md).
        return batches if self.device.type == "cpu" else ahead(batches)

    def update(self, batches: Iterator[Loaded]) -> Update:
        """One step of the optimizer, on the gradients of one batch or of several."""
        began = time.perf_counter()
        number = self.progress.update + 1
        dropout.seed(self.settings.seed, number, self.processes.rank)
        rate = self._rate(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate

        loaded = list(islice(batches, self.settings.accumulate))
        num_targets = int(self.processes.sum(sum(batch.batch.num_targets for batch in loaded))[0])
        losses = self._learn([batch.batch.to(self.device) for batch in loaded], num_targets)
        loss = self.processes.sum(sum(losses))[0]
        self.progress = replace(self.progress, update=number, position=loaded[-1].position)
        skipped: list[int] = []
        if math.isfinite(loss) and math.isfinite(self._clip()):
            self.optimizer.step()
            self.adaptation.stepped(rate)
            tokens = self.progress.tokens + num_targets
            self.progress = replace(self.progress, tokens=tokens, baseline=self._mean_baseline())
        else:
            spoilt = [batch for batch, loss in zip(loaded, losses, strict=True) if not math.isfinite(loss)]
            skipped = self._rows(spoilt) or self._rows(loaded)
            self.progress = replace(self.progress, skipped=self.progress.skipped + 1)
        self.progress = replace(self.progress, seconds=self.progress.seconds + time.perf_counter() - began)
        return Update(loss, rate, tuple(skipped))

    def _together(self) -> nn.Module:
        """The learner, whose gradients are from now on the mean over all processes."""
        if not self.is_sharded:
            return self.processes.together(self.learner, self.device)
        sharding.shard(self.learner, self.device, self.processes.world)
        return self.learner

    def _threads(self) -> Threads | None:
        """Threads to share out batches among, where there is a CPU with several cores and only one process."""
        number = torch.get_num_threads()
        free = self.device.type == "cpu" and self.processes.world == 1
        return Threads(number) if free and number > 1 and self.task.is_divisible(self.model) else None

    def _rate(self, update: int) -> float:
        highest, warmup = self.highest_rate, self.settings.warmup
        if self.settings.schedule == "inverse-sqrt":
            return inverse_sqrt(update, highest=highest, warmup=warmup)
        falling = linear if self.settings.schedule == "linear" else trapezoidal
        return falling(update, highest=highest, warmup=warmup, updates=self.settings.updates)

    def _learn(self, batches: list[Any], num_targets: int) -> list[float]:
        """Gradients of the update's loss per target, over all processes; and each batch's own share of that loss."""
        self.together.train()
        self.model.zero_grad()
        if self.learner.baseline is not None:
            self.learner.baseline.value = self.progress.baseline
        if self.threads is not None:
            parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
            seed = (self.settings.seed, self.progress.update + 1)
            return [
                self.threads.learn(self.learner, batch, parameters, 1 / num_targets, *seed, number) / num_targets
                for number, batch in enumerate(batches)
            ]
        losses = []
        for number, batch in enumerate(batches, start=1):
            with nullcontext() if number == len(batches) else apart(self.together):
                wanted, loss = self.together(batch)
                (wanted / (num_targets / self.processes.world)).backward()  # the processes' gradients are averaged
            losses.append(loss.item() / num_targets)
        return losses

    def _clip(self) -> float:
        """The norm of all gradients, which are then scaled down if it is too large."""
        self.adaptation.collect()
        parameters = [parameter for parameter in self.adaptation.trained.parameters() if parameter.grad is not None]
        norm = whole(get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None]))
        if self.settings.clip_norm:
            clip_grads_with_norm_(parameters, self.settings.clip_norm, norm)
        return norm.item()

    def _rows(self, loaded: list[Loaded]) -> list[int]:
        """The examples of batches, of all processes."""
        return self.processes.gather([row for batch in loaded for row in batch.rows.tolist()])

    def _mean_baseline(self) -> float | None:
        """Of all processes; None where nothing is sampled."""
        if self.learner.baseline is None or self.learner.baseline.value is None:
            return None
        return self.processes.sum(self.learner.baseline.value)[0] / self.processes.world


def learn(
    task: Learnable, settings: TrainingSettings, advanced: Callable[[Updates], None] = lambda updates: None
) -> nn.Module:
    """Train a new model in memory, without validation and checkpoints; `advanced` is called after each update."""
    updates = Updates(task, settings)
    batches = updates.batches(Position())
    for number in range(1, settings.updates + 1):
        if updates.update(batches).skipped:
            raise TrainingError(f"The loss of update {number} is not finite. Lower the learning rate.")
        advanced(updates)
    return updates.model.eval()
