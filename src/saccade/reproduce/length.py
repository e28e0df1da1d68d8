"""Length hurts a fixed vector, and not attention (Bahdanau et al. 2015, Figure 2), on strings written backwards."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.batch import Batch
from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, ModelSettings, RecurrentSettings, TransformerSettings
from saccade.reproduce.contest import Contestant, compare
from saccade.reproduce.figures import average, draw_lines, plotted, shade, sizes_table, spread, values
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.reproduce.pairs_task import PairsTask, exact_match
from saccade.reproduce.strings import NUM_TOKENS, random_strings, reversal_batch

CLAIM = (
    "With a fixed vector, translations get worse the longer the sentence; with attention they do not "
    "(Bahdanau et al. 2015, Figure 2)."
)
RULE = (
    "Trained on strings of 1 to 20 letters, exact match at every length from 15 to 20 is at most 0.05 with the fixed "
    "vector and at least 0.8 with Bahdanau's attention, on the mean of all seeds."
)
UPDATES, QUICK = 1000, 100
LONGEST = 20
LENGTHS = (5, 10, 15, 16, 17, 18, 19, 20, 25, 30)
"""Shorter strings are left out: training has seen most of them."""
JUDGED = range(15, 21)
NUM_TESTED, BATCH = 200, 64
FIXED, ATTENDING = "fixed vector", "Bahdanau"
MODELS: Mapping[str, ModelSettings] = {
    FIXED: RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="fixed")),
    ATTENDING: RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="global")),
    "Transformer": TransformerSettings(layers=2, d_model=96, d_feedforward=192, num_heads=4, norm="pre", dropout=0.0),
}
RATES = {FIXED: 0.003, ATTENDING: 0.003, "Transformer": 0.002}


def batches(seed: int) -> Iterator[Batch]:
    """Strings, each with itself written backwards."""
    random = np.random.default_rng((seed, 0))
    while True:
        yield reversal_batch(random, BATCH, 1, LONGEST)


CONTESTANTS = {
    name: Contestant(partial(PairsTask, model, NUM_TOKENS, batches), RATES[name]) for name, model in MODELS.items()
}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train every contestant on so many batches of 64 strings, and test it on new strings of each length."""
    figures = compare(CONTESTANTS, measure, updates, seeds, advanced)
    by_length = {name: [average(figures, name, "exact match", length) for length in JUDGED] for name in CONTESTANTS}
    holds = max(by_length[FIXED]) <= 0.05 and min(by_length[ATTENDING]) >= 0.8
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def measure(task: PairsTask, model: Any) -> dict[str, dict[int, float]]:
    """The share of new strings that are written backwards without a mistake, by length."""
    engine = TorchEngine(model)
    return {"exact match": {length: share_right(engine, length, task.seed) for length in LENGTHS}}


def share_right(engine: TorchEngine, length: int, seed: int) -> float:
    """The same for one length."""
    strings = random_strings(np.random.default_rng((seed, length, 1)), NUM_TESTED, length, length)
    return exact_match(engine, [string.tolist() for string in strings], [string[::-1].tolist() for string in strings])


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found = finding.figures
    cells = {length: [spread(values(found, name, "exact match", length)) for name in found] for length in LENGTHS}
    return sizes_table(found, "length", cells)


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    with plotted(path, 6, 3.6) as figure:
        axes = figure.subplots()
        shade(axes, LENGTHS, LONGEST)
        draw_lines(axes, finding.figures, CONTESTANTS, "exact match", LENGTHS)
        axes.set(xlabel="length of the string", ylim=(-0.03, 1.03))
        axes.legend(frameon=False)
