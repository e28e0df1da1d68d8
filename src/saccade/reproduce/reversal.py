"""Reversing the source helps a fixed vector (Sutskever et al. 2014, §3.3 and Table 1), on strings to be copied."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.reproduce.claim import learn
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.reproduce.strings import NUM_TOKENS, random_strings
from saccade.search.settings import SearchSettings

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
CONTESTANTS = {
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


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train both for so many updates of 64 strings, and test them on new strings of each length."""
    figures: dict[str, Any] = {}
    for name, settings in CONTESTANTS.items():
        runs = []
        for seed in seeds:
            learned = learn(
                settings,
                NUM_TOKENS,
                batches(seed),
                updates=updates,
                rate=RATE,
                seed=seed,
                advanced=lambda done, name=name: advanced(name, done, updates),  # type: ignore[misc]
            )
            right = {length: exact_match(TorchEngine(learned.model), length, seed) for length in LENGTHS}
            runs.append({"seed": seed, "cpu_seconds": learned.cpu_seconds, "exact_match": right})
        figures[name] = {"parameters": learned.num_parameters, "runs": runs}
    shares = {name: mean(_mean(figures, name, length) for length in LENGTHS) for name in CONTESTANTS}
    holds = shares["backwards"] - shares["forwards"] >= 0.1
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def batches(seed: int) -> Iterator[Batch]:
    """Strings, each with itself."""
    random = np.random.default_rng((seed, 0))
    while True:
        strings = random_strings(random, BATCH, 1, LONGEST)
        yield collate(strings, strings)


def exact_match(engine: TorchEngine, length: int, seed: int) -> float:
    """The share of new strings of this length that are copied without a mistake, by greedy search."""
    strings = random_strings(np.random.default_rng((seed, length, 1)), NUM_TESTED, length, length)
    found = engine.translate([string.tolist() for string in strings], SearchSettings(beam=1))
    return mean(each[0].ids == tuple(string.tolist()) for each, string in zip(found, strings, strict=True))


def _shares(figures: Mapping[str, Any], name: str, length: int) -> list[float]:
    return [run["exact_match"][length] for run in figures[name]["runs"]]


def _mean(figures: Mapping[str, Any], name: str, length: int) -> float:
    return mean(_shares(figures, name, length))


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found = finding.figures
    lines = [f"| length | {' | '.join(CONTESTANTS)} |", "|---" * (1 + len(CONTESTANTS)) + "|"]
    for length in LENGTHS:
        lines.append(f"| {length} | {' | '.join(spread(_shares(found, name, length)) for name in CONTESTANTS)} |")
    rows = {
        "mean": [f"{mean(_mean(found, name, length) for length in LENGTHS):.3f}" for name in CONTESTANTS],
        "parameters": [f"{found[name]['parameters']:,}" for name in CONTESTANTS],
        "CPU seconds": [f"{mean(run['cpu_seconds'] for run in found[name]['runs']):.0f}" for name in CONTESTANTS],
    }
    return "\n".join([*lines, *(f"| {what} | {' | '.join(cells)} |" for what, cells in rows.items())])


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, style in zip(CONTESTANTS, ("s-", "o-"), strict=True):
        shares = [_mean(finding.figures, name, length) for length in LENGTHS]
        axes.plot(LENGTHS, shares, style, label=f"source read {name}")
    axes.set(
        xlabel="length of the string",
        ylabel="exact match",
        ylim=(-0.03, 1.03),
        title="Strings copied by way of one vector",
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
