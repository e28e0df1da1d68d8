"""Dropout that costs one random byte an element on a CPU, where torch's own spends most of a small model's time.

The rate is rounded to 1/256. `seed` makes what follows a function of its arguments alone, so a resumed run needs
no stored random state.
"""

import threading
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout

LEVELS = 256
POOL_BYTES = 1 << 22


class _Bytes(threading.local):
    """A pool of random bytes, drawn afresh when used up and handed out without a copy; every thread has its own."""

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, *numbers: int) -> None:
        self._generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(numbers)))
        self._pool = np.empty(0, np.uint8)
        self._used = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        if self._used + count > len(self._pool):
            words = max(count, POOL_BYTES) // 8 + 1
            self._pool = self._generator.integers(0, 2**64, words, dtype=np.uint64).view(np.uint8)
            self._used = 0
        self._used += count
        return self._pool[self._used - count : self._used]


_bytes = _Bytes()


def seed(*numbers: int) -> None:
    """Seed all dropout that follows, on every device: the same numbers, the same masks."""
    seed_thread(*numbers)
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]) >> 1)


def seed_thread(*numbers: int) -> None:
    """Seed the dropout of this thread on the CPU, and nothing else."""
    _bytes.seed(*numbers)


def keep(states: Float[Tensor, "..."], rate: float) -> UInt8[Tensor, "..."]:
    """Draw which elements are kept: 1, or 0.

    Compared by numpy, and bytes rather than booleans: torch compares bytes 15 times slower, and multiplies floats with
    booleans 15 times slower than with bytes (docs/log.md).
    """
    kept = np.greater_equal(_bytes.take(states.numel()), _threshold(rate))
    return torch.from_numpy(kept.view(np.uint8)).view(states.shape)


def rescaled(states: Float[Tensor, "..."], kept: UInt8[Tensor, "..."], rate: float) -> Float[Tensor, "..."]:
    """Zero what is not kept, and scale up the rest so that the expectation stays."""
    # In the memory of the converted mask: states * kept would take new memory once more, 1 % of a tiny model's update.
    return kept.to(states.dtype).mul_(states).mul_(LEVELS / (LEVELS - _threshold(rate)))


def _threshold(rate: float) -> int:
    return min(round(rate * LEVELS), LEVELS - 1)  # something is always kept


class _Drop(torch.autograd.Function):
    """The gradient goes through the same mask."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, rate: float) -> Tensor:
        kept = keep(states, rate)
        ctx.save_for_backward(kept)
        ctx.rate = rate
        return rescaled(states, kept, rate)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return rescaled(gradient, kept, ctx.rate), None


def drop(states: Float[Tensor, "..."], rate: float) -> Float[Tensor, "..."]:
    """Zero a random share of the elements and scale up the rest."""
    if rate == 0:
        return states
    if states.device.type != "cpu" or torch.compiler.is_compiling():  # which cannot trace the pool of bytes
        return dropout(states, rate)
    dropped: Tensor = _Drop.apply(states, rate)  # type: ignore[no-untyped-call]
    return dropped


class Dropout(nn.Module):
    """`torch.nn.Dropout` with a rate rounded to 1/256, fast on a CPU."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return drop(states, self.rate) if self.training else states
