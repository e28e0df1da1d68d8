"""Learning rates: up in a line, then down with the inverse square root as in the paper, or in a line, soon or late."""

import math


def inverse_sqrt(update: int, *, highest: float, warmup: int) -> float:
    """The rate of the `update`-th update, counted from 1; the highest comes at the end of the warm-up."""
    # With highest = (d_model · warmup)^-½ this is the paper's d_model^-½ · min(update^-½, update · warmup^-1½)
    # (Vaswani et al. 2017, eq. 3).
    return highest * min(update / warmup, math.sqrt(warmup / update))


def linear(update: int, *, highest: float, warmup: int, updates: int) -> float:
    """Rises over the warm-up, then falls to reach zero just after the last of `updates`: best for a fixed budget."""
    if update <= warmup:
        return highest * update / warmup
    return highest * max(0, updates + 1 - update) / (updates + 1 - warmup)


def trapezoidal(update: int, *, highest: float, warmup: int, updates: int) -> float:
    """Rises over the warm-up, stays there, and falls over the last fifth to zero just after the last of `updates`."""
    return highest * max(0.0, min(1.0, update / warmup, 5 * (updates + 1 - update) / updates))


def decay_start(updates: int) -> int:
    """The last update of a trapezoidal schedule before its rate falls."""
    return updates + 1 - math.ceil(updates / 5)


def paper_rate(d_model: int, warmup: int) -> float:
    """The highest rate of the paper's schedule."""
    return 1 / math.sqrt(d_model * warmup)
