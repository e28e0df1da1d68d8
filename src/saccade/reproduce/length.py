"""Length hurts a fixed vector, and not attention (Bahdanau et al. 2015, Figure 2), on strings written backwards."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch
from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, ModelSettings, RecurrentSettings, TransformerSettings
from saccade.reproduce.claim import learn
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.reproduce.strings import NUM_TOKENS, random_strings, reversal_batch
from saccade.search.settings import SearchSettings

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
CONTESTANTS: Mapping[str, ModelSettings] = {
    "fixed vector": RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="fixed")),
    "Bahdanau": RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="global")),
    "Transformer": TransformerSettings(layers=2, d_model=96, d_feedforward=192, num_heads=4, norm="pre", dropout=0.0),
}
RATES = {"fixed vector": 0.003, "Bahdanau": 0.003, "Transformer": 0.002}


def run(
    *, updates: int = 1000, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates of 64 strings, and test it on new strings of each length."""
    figures: dict[str, Any] = {}
    for name, settings in CONTESTANTS.items():
        by_seed = []
        for seed in seeds:
            learned = learn(
                settings,
                NUM_TOKENS,
                _batches(seed),
                updates=updates,
                rate=RATES[name],
                seed=seed,
                advanced=lambda done, name=name: advanced(name, done, updates),  # type: ignore[misc]
            )
            right = {length: exact_match(TorchEngine(learned.model), length, seed) for length in LENGTHS}
            by_seed.append({"seed": seed, "cpu_seconds": learned.cpu_seconds, "exact_match": right})
        figures[name] = {"parameters": learned.num_parameters, "runs": by_seed}
    worst = {name: [_mean(figures[name], length) for length in JUDGED] for name in CONTESTANTS}
    holds = max(worst["fixed vector"]) <= 0.05 and min(worst["Bahdanau"]) >= 0.8
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def exact_match(engine: TorchEngine, length: int, seed: int) -> float:
    """The share of new strings of this length that are written backwards without a mistake, by greedy search."""
    strings = random_strings(np.random.default_rng((seed, length, 1)), NUM_TESTED, length, length)
    found = engine.translate([string.tolist() for string in strings], SearchSettings(beam=1))
    right = [each[0].ids == tuple(string[::-1].tolist()) for each, string in zip(found, strings, strict=True)]
    return sum(right) / len(right)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    lines = [
        f"| length | {' | '.join(CONTESTANTS)} |",
        "|---" * (1 + len(CONTESTANTS)) + "|",
    ]
    for length in LENGTHS:
        cells = [spread(_shares(finding.figures[name], length)) for name in CONTESTANTS]
        lines.append(f"| {length} | {' | '.join(cells)} |")
    parameters = [f"{finding.figures[name]['parameters']:,}" for name in CONTESTANTS]
    seconds = [f"{mean(run['cpu_seconds'] for run in finding.figures[name]['runs']):.0f}" for name in CONTESTANTS]
    lines += [f"| parameters | {' | '.join(parameters)} |", f"| CPU seconds | {' | '.join(seconds)} |"]
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(LONGEST, max(LENGTHS), color="0.94", zorder=0)
    axes.text(LONGEST + 0.3, 1.02, "longer than any in training", fontsize=8, color="0.4")
    for name, style in zip(CONTESTANTS, ("o-", "s-", "^--"), strict=True):  # told apart where they lie upon each other
        shares = [_mean(finding.figures[name], length) for length in LENGTHS]
        axes.plot(LENGTHS, shares, style, markersize=5, label=name)
    axes.set(xlabel="length of the string", ylabel="exact match", ylim=(-0.03, 1.1), title="Strings written backwards")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _batches(seed: int) -> Iterator[Batch]:
    random = np.random.default_rng((seed, 0))
    while True:
        yield reversal_batch(random, BATCH, 1, LONGEST)


def _mean(figures: Mapping[str, Any], length: int) -> float:
    return mean(_shares(figures, length))


def _shares(figures: Mapping[str, Any], length: int) -> list[float]:
    return [run["exact_match"][length] for run in figures["runs"]]
