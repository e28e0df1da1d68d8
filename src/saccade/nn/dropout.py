"""Dropout that costs one random byte an element on a CPU, where torch's own spends most of a small model's time.

The rate is rounded to 1/256. `seed` makes what follows a function of its arguments alone, so a resumed run needs
no stored random state.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout

LEVELS = 256
POOL_BYTES = 1 << 22


class _Bytes:
    """A pool of random bytes, drawn afresh when used up and handed out without a copy."""

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, *numbers: int) -> None:
        self._generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence(numbers)))
        self._pool = torch.empty(0, dtype=torch.uint8)
        self._used = 0

    def take(self, count: int) -> Tensor:
        if self._used + count > len(self._pool):
            words = max(count, POOL_BYTES) // 8 + 1
            drawn = self._generator.integers(0, 2**64, words, dtype=np.uint64)
            self._pool, self._used = torch.from_numpy(drawn.view(np.uint8)), 0
        self._used += count
        return self._pool[self._used - count : self._used]


_bytes = _Bytes()


def seed(*numbers: int) -> None:
    """Seed all dropout that follows, on every device: the same numbers, the same masks."""
    _bytes.seed(*numbers)
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]) >> 1)


class _Drop(torch.autograd.Function):
    """Zero what falls below the threshold and scale up the rest; the gradient goes through the same mask."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, threshold: int) -> Tensor:
        kept = _bytes.take(states.numel()).view(states.shape) >= threshold
        ctx.scale = LEVELS / (LEVELS - threshold)
        ctx.save_for_backward(kept)
        return _scaled(states, kept, ctx.scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return _scaled(gradient, kept, ctx.scale), None


def _scaled(states: Float[Tensor, "..."], kept: Bool[Tensor, "..."], scale: float) -> Float[Tensor, "..."]:
    return (states * kept).mul_(scale)


class Dropout(nn.Module):
    """`torch.nn.Dropout` with a rate rounded to 1/256, fast on a CPU."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """In training, zero a random share of the elements and scale up the rest."""
        if not self.training or self.rate == 0:
            return states
        if states.device.type != "cpu" or torch.compiler.is_compiling():  # which cannot trace the pool of bytes
            return dropout(states, self.rate)
        threshold = min(round(self.rate * LEVELS), LEVELS - 1)  # something is always kept
        dropped: Tensor = _Drop.apply(states, threshold)  # type: ignore[no-untyped-call]
        return dropped
