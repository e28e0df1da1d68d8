"""A Turing machine copies what is longer than any it was trained on; an LSTM does not (Graves et al. 2014, §4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
from torch import nn

from saccade.reproduce.contest import Contestant, compare
from saccade.reproduce.figures import draw_lines, plotted, shade, sizes_table, spread, values
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.tasks.generated import TEST
from saccade.tasks.memory import episodes
from saccade.tasks.memory.loss import figures
from saccade.tasks.memory.settings import CopySettings, EpisodesSettings, LstmSettings, TuringSettings
from saccade.tasks.memory.task import MemoryTask

CLAIM = (
    "A Neural Turing Machine that has learned to copy goes on to copy sequences longer than any it was trained on, "
    "and an LSTM of many times its size does not (Graves et al. 2014, §4.1, Figures 4 and 5)."
)
RULE = (
    "Trained on 1 to 8 vectors, at 16 the machine is exact on at least 0.95 of all sequences with every seed, and the "
    "LSTM on at most 0.05 with every seed. What the machine does without a part of its addressing is told, not judged."
)
UPDATES, QUICK = 1000, 20
TASK = CopySettings(bits=4, longest=8, batch=16)
LENGTHS = (4, 8, 12, 16, 20, 24)
JUDGED, NUM_TESTED = 16, 200
CLIP = 5.0
MEASURES = ("bits per sequence", "exact match")
MACHINE = TuringSettings(d_controller=64, rows=32, d_row=8)


def _contestant(model: TuringSettings | LstmSettings, rate: float = 0.005, times: int = 1) -> Contestant:
    return Contestant(partial(MemoryTask, TASK, model), rate, times, CLIP)


CONTESTANTS = {
    "machine": _contestant(MACHINE),
    "LSTM": _contestant(LstmSettings(layers=3, d_model=128), rate=0.003, times=4),
    "no shift": _contestant(replace(MACHINE, reach=0)),
    "no sharpening": _contestant(replace(MACHINE, sharpens=False)),
    "no interpolation": _contestant(replace(MACHINE, interpolates=False)),
}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1, 2, 3), advanced: Advanced = silent) -> Finding:
    """Train every contestant for so many updates, or its multiple of them, and test it on new sequences."""
    sizes = {length: replace(TASK, shortest=length, longest=length) for length in LENGTHS}
    found = compare(CONTESTANTS, partial(measure, sizes), updates, seeds, advanced)
    holds = (
        min(values(found, "machine", "exact match", JUDGED)) >= 0.95
        and max(values(found, "LSTM", "exact match", JUDGED)) <= 0.05
    )
    return Finding(CLAIM, RULE, holds, {"task": asdict(TASK), "updates": updates, "seeds": list(seeds)}, found)


def measure(sizes: Mapping[int, EpisodesSettings], task: MemoryTask, model: nn.Module) -> dict[str, dict[int, float]]:
    """Bits per sequence and exact match on new episodes of each size."""
    found = {
        size: figures(model, episodes.draw(np.random.default_rng((task.seed, TEST)), own, NUM_TESTED))
        for size, own in sizes.items()
    }
    return {what: {size: numbers[what] for size, numbers in found.items()} for what in MEASURES}


def table(finding: Finding) -> str:
    """Bits per sequence, and in brackets the share of exact ones, in Markdown."""
    return bits_table(finding, "length", LENGTHS)


def bits_table(finding: Finding, size: str, sizes: Sequence[int]) -> str:
    """A line for each size, a column for each contestant."""

    def cell(name: str, size: int) -> str:
        bits, exact = (spread(values(finding.figures, name, what, size), 2) for what in MEASURES)
        return f"{bits} ({exact})"

    cells = {size: [cell(name, size) for name in finding.figures] for size in sizes}
    return sizes_table(finding.figures, size, cells)


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    plot_sizes(finding, "exact match", "vectors to copy", LENGTHS, TASK.longest, path)


def plot_sizes(finding: Finding, what: str, size: str, sizes: Sequence[int], largest: int, path: Path) -> None:
    """A measure by size, a line for each contestant."""
    with plotted(path, 6, 3.6) as figure:
        axes = figure.subplots()
        shade(axes, sizes, largest)
        draw_lines(axes, finding.figures, finding.figures, what, sizes)
        axes.set(xlabel=size, xticks=sizes)
        axes.legend(frameon=False)
