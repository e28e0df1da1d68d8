"""Reversing the source helps a fixed vector (Sutskever et al. 2014, §3.3 and Table 1), on strings to be copied."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.reproduce.contest import Contestant, compare
from saccade.reproduce.figures import Figures, average, draw_lines, plotted, sizes_table, spread, values
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.reproduce.pairs_task import PairsTask, exact_match
from saccade.reproduce.strings import NUM_TOKENS, random_strings

CLAIM = (
    "Without attention, a source read backwards is translated better: its first words come close to the first words of "
    "the target (Sutskever et al. 2014, Table 1: from 26.17 to 30.59 BLEU)."
)
RULE = (
    "Trained to copy strings of 1 to 12 letters, exact match on the mean of lengths 3 to 12 is at least 0.1 higher "
    "with the source read backwards than forwards, on the mean of all seeds."
)
UPDATES, QUICK, RATE = 1000, 40, 0.003
LONGEST, NUM_TESTED, BATCH = 12, 100, 64
LENGTHS = tuple(range(3, LONGEST + 1))
"""Shorter strings are left out: training has seen most of them."""
MODELS = {
    name: RecurrentSettings(
        cell="lstm",
        d_model=128,
        bidirectional=False,
        reverses_source=reverses,
        dropout=0.0,
        attention=AttentionSettings(positions="none"),
    )
    for name, reverses in {"forwards": False, "backwards": True}.items()
}


def batches(seed: int) -> Iterator[Batch]:
    """Strings, each with itself."""
    random = np.random.default_rng((seed, 0))
    while True:
        strings = random_strings(random, BATCH, 1, LONGEST)
        yield collate(strings, strings)


CONTESTANTS = {name: Contestant(partial(PairsTask, model, NUM_TOKENS, batches), RATE) for name, model in MODELS.items()}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train both on so many batches of 64 strings, and test them on new strings of each length."""
    figures = compare(CONTESTANTS, measure, updates, seeds, advanced)
    holds = _over_lengths(figures, "backwards") - _over_lengths(figures, "forwards") >= 0.1
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def measure(task: PairsTask, model: Any) -> dict[str, dict[int, float]]:
    """The share of new strings that are copied without a mistake, by length."""
    engine = TorchEngine(model)
    return {"exact match": {length: share_right(engine, length, task.seed) for length in LENGTHS}}


def share_right(engine: TorchEngine, length: int, seed: int) -> float:
    """The same for one length."""
    strings = random_strings(np.random.default_rng((seed, length, 1)), NUM_TESTED, length, length)
    ids = [string.tolist() for string in strings]
    return exact_match(engine, ids, ids)


def _over_lengths(figures: Figures, name: str) -> float:
    return mean(average(figures, name, "exact match", length) for length in LENGTHS)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found = finding.figures
    cells = {length: [spread(values(found, name, "exact match", length)) for name in found] for length in LENGTHS}
    return sizes_table(found, "length", cells | {"mean": [f"{_over_lengths(found, name):.3f}" for name in found]})


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    with plotted(path, 5.6, 3.2) as figure:
        axes = figure.subplots()
        draw_lines(axes, finding.figures, CONTESTANTS, "exact match", LENGTHS)
        axes.set(xlabel="length of the string", ylim=(-0.03, 1.03), title="Strings copied by way of one vector")
        axes.legend(frameon=False, title="source read")
