"""A Turing machine recalls among more items than it was trained on (Graves et al. 2014, §4.3)."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from saccade.reproduce.contest import Contestant, compare
from saccade.reproduce.figures import values
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.reproduce.turing import CLIP, bits_table, measure, plot_sizes
from saccade.tasks.memory.settings import LstmSettings, RecallSettings, TuringSettings
from saccade.tasks.memory.task import MemoryTask

CLAIM = (
    "A Neural Turing Machine learns associative recall, and keeps it beyond the number of items it was trained on; an "
    "LSTM learns it far more slowly, and does not (Graves et al. 2014, §4.3, Figures 10 and 11)."
)
RULE = (
    "Trained on 2 to 6 items of 3 × 6 bits, at 8 items the machine needs at most 1 bit per sequence with every seed, "
    "and the LSTM more than 9, half of what there is to know, with every seed."
)
UPDATES, QUICK = 2000, 20
TASK = RecallSettings(batch=16)
ITEMS = (2, 4, 6, 8, 10, 12)
JUDGED, MOST_BITS, BITS_OF_LSTM = 8, 1.0, 9.0
MODELS: dict[str, TuringSettings | LstmSettings] = {
    "machine": TuringSettings(d_controller=128, rows=64, d_row=20, read_heads=2),
    "LSTM": LstmSettings(layers=3, d_model=128),
}
CONTESTANTS = {
    name: Contestant(partial(MemoryTask, TASK, model), 0.002, clip_norm=CLIP) for name, model in MODELS.items()
}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1, 2, 3), advanced: Advanced = silent) -> Finding:
    """Train both for so many updates, and test them on new episodes."""
    sizes = {items: replace(TASK, fewest=items, most=items) for items in ITEMS}
    figures = compare(CONTESTANTS, partial(measure, sizes), updates, seeds, advanced)
    holds = (
        max(values(figures, "machine", "bits per sequence", JUDGED)) <= MOST_BITS
        and min(values(figures, "LSTM", "bits per sequence", JUDGED)) > BITS_OF_LSTM
    )
    return Finding(CLAIM, RULE, holds, {"task": asdict(TASK), "updates": updates, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """Bits per sequence, and in brackets the share of exact ones, in Markdown."""
    return bits_table(finding, "items", ITEMS)


def plot(finding: Finding, path: Path) -> None:
    """Bits per sequence by the number of items, a line for each contestant."""
    plot_sizes(finding, "bits per sequence", "items shown", ITEMS, TASK.most, path)
