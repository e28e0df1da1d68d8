"""A batch cut up among threads: each core learns from a part of its own, and the gradients are added up.

torch shares out single operations among its threads, which wait for the slowest some thousand times an update. Here
they wait once: on two cores 1.3 times as fast for a tiny Transformer (docs/speed.md), 1.5 beside other programs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

from saccade.data.batch import Batch
from saccade.nn import dropout
from saccade.nn.machine import one_thread_each

Loss = Callable[[Batch], tuple[Tensor, Tensor]]
"""Of a batch: the loss to be differentiated, and the one to be reported."""


class Threads:
    """So many threads that learn side by side. The same seeds give the same bits, whoever is first."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._pool = ThreadPoolExecutor(number, thread_name_prefix="learn")

    def learn(self, loss: Loss, batch: Batch, parameters: Sequence[nn.Parameter], scale: float, *seed: int) -> float:
        """Add to the gradients of these parameters those of `scale` times the batch's loss; its loss to be reported."""

        def part(number: int, rows: Batch) -> tuple[tuple[Tensor | None, ...], float]:
            dropout.seed_thread(*seed, number)
            wanted, reported = loss(rows)
            return torch.autograd.grad(wanted * scale, parameters, allow_unused=True), reported.item()

        parts = batch.parts(self.number)
        with one_thread_each():
            learned = list(self._pool.map(part, range(len(parts)), parts))
        for gradients, _ in learned:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                if gradient is None:
                    continue
                if parameter.grad is None:
                    parameter.grad = gradient
                else:
                    parameter.grad += gradient
        return sum(reported for _, reported in learned)
