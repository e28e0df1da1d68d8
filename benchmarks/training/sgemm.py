"""How fast this machine multiplies float32 matrices: the bound of any training."""

import sys
from pathlib import Path

import torch

from benchmarks.training.work import TrainingWork
from benchmarks.turns import Turns

WIDTH = 2048


def main(directory: str) -> None:
    """Multiply endlessly, taking turns; a turn's "tokens" are multiplications and additions."""
    work, turns = TrainingWork.open(Path(directory)), Turns()
    torch.set_num_threads(work.threads)
    left, right = torch.randn(WIDTH, WIDTH), torch.randn(WIDTH, WIDTH)
    product = torch.empty(WIDTH, WIDTH)
    while True:
        torch.mm(left, right, out=product)
        turns.count_update(2 * WIDTH**3)


if __name__ == "__main__":
    main(sys.argv[1])
