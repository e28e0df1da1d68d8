"""The learning rate of the paper: up in a line, down with the inverse square root (Vaswani et al. 2017, eq. 3)."""

import math


def learning_rate(update: int, *, highest: float, warmup: int) -> float:
    """The rate of the `update`-th update, counted from 1; the highest comes at the end of the warm-up.

    With highest = (d_model · warmup)^-½ this is the paper's d_model^-½ · min(update^-½, update · warmup^-1½).
    """
    return highest * min(update / warmup, math.sqrt(warmup / update))


def paper_rate(d_model: int, warmup: int) -> float:
    """The highest rate of the paper's schedule."""
    return 1 / math.sqrt(d_model * warmup)
