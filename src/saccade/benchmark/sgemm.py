"""The fastest that this machine multiplies matrices of float32: what any training could reach at most."""

import sys
from pathlib import Path

import torch

from saccade.benchmark.turns import Turns
from saccade.benchmark.work import Work

WIDTH = 2048


def main(directory: str) -> None:
    """Multiply without end, taking turns; a turn's "tokens" are multiplications and additions."""
    work, turns = Work.open(Path(directory)), Turns()
    torch.set_num_threads(work.threads)
    left, right = torch.randn(WIDTH, WIDTH), torch.randn(WIDTH, WIDTH)
    product = torch.empty(WIDTH, WIDTH)
    while True:
        torch.mm(left, right, out=product)
        turns.updated(2 * WIDTH**3)


if __name__ == "__main__":
    main(sys.argv[1])
