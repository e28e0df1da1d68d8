"""A Turing machine copies what is longer than any it was trained on; an LSTM does not (Graves et al. 2014, §4.1)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, values
from saccade.tasks.generated import TEST
from saccade.tasks.memory import episodes
from saccade.tasks.memory.loss import figures
from saccade.tasks.memory.settings import CopySettings, LstmSettings, TuringSettings
from saccade.tasks.memory.task import MemoryTask

UPDATES, QUICK = 1000, 20
TASK = CopySettings(bits=4, longest=8, batch=16)
LENGTHS = (4, 8, 12, 16, 20, 24)
JUDGED, NUM_TESTED = 16, 200
CLIP = 5.0
MEASURES = ("bits per sequence", "exact match")
MACHINE = TuringSettings(d_controller=64, rows=32, d_row=8)


def _contestant(model: TuringSettings | LstmSettings, rate: float = 0.005, times: int = 1) -> Contestant:
    return Contestant(partial(MemoryTask, TASK, model), rate, times, CLIP, holds_rate=True)


CONTESTANTS = {
    "machine": _contestant(MACHINE),
    "LSTM": _contestant(LstmSettings(layers=3, d_model=128), rate=0.003, times=4),
    "no shift": _contestant(replace(MACHINE, reach=0)),
    "no sharpening": _contestant(replace(MACHINE, sharpens=False)),
    "no interpolation": _contestant(replace(MACHINE, interpolates=False)),
}


def measure(sizes: Sequence[int], task: MemoryTask, model: nn.Module) -> dict[str, dict[int, float]]:
    """Bits per sequence and exact match on new episodes of each size."""
    found = {}
    for size in sizes:
        only: dict[str, Any] = dict.fromkeys(task.task.RANGES[0], size)
        random, of_size = np.random.default_rng((task.seed, TEST)), replace(task.task, **only)
        found[size] = figures(model, episodes.draw(random, of_size, NUM_TESTED))
    return {what: {size: numbers[what] for size, numbers in found.items()} for what in MEASURES}


def _holds(figures: Figures) -> bool:
    machine, lstm = (values(figures, name, "exact match", JUDGED) for name in ("machine", "LSTM"))
    return bool(min(machine) >= 0.95 and max(lstm) <= 0.05)


CONTEST = Contest(
    "turing",
    CONTESTANTS,
    _holds,
    TASK.batch,
    partial(measure, LENGTHS),
    MEASURES,
    size="length",
    largest=TASK.longest,
    drawn="exact match",
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
