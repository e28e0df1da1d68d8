"""Where to look and how to score (Luong et al. 2015, Table 4 and Table 6), in small, on numbers in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.evaluation.alignment import error_rate
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.reproduce.claim import learn
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.reproduce.numbers import NUM_TOKENS, named, split
from saccade.search.settings import SearchSettings
from saccade.trace.alignment import links

CLAIM = (
    "Scores that look at what stands in the source, dot and general, do better than location, which does not (Luong et "
    "al. 2015, Table 4: perplexity 6.1 and 6.1 against 6.4; Table 6: location has the highest alignment error)."
)
RULE = (
    "From English numbers to German ones, with attention to all positions, perplexity on numbers never seen is lower "
    "with dot and with general than with location, and the alignment error is lower by at least 0.05 with each; on the "
    "mean of all seeds. The rows of local attention are told, and judge nothing."
)
UPDATES, QUICK, RATE = 700, 8, 0.005
BATCH, NUM_TESTED, WINDOW = 64, 200, 2
"""A window of Luong's D = 10 would hold every one of these sources."""
SCORES = {"location": "location", "dot": "dot", "general": "general", "concat": "additive"}
"""Luong's names, and ours."""
CONTESTANTS = {
    f"{positions} ({score})": RecurrentSettings(
        d_model=64,
        dropout=0.0,
        attend="after",
        attention=AttentionSettings(score=ours, positions=positions, window=WINDOW, num_positions=16),  # type: ignore[arg-type]
    )
    for positions in ("global", "local-m", "local-p")
    for score, ours in SCORES.items()
    if positions == "global" or score != "location"
}
MEASURES = ("perplexity", "exact match", "alignment error")


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every pair of positions and score on so many batches of 64 numbers."""
    figures: dict[str, Any] = {}
    for name, settings in CONTESTANTS.items():
        runs = []
        for seed in seeds:
            learned = learn(
                settings,
                NUM_TOKENS,
                _batches(seed),
                updates=updates,
                rate=RATE,
                seed=seed,
                advanced=lambda done, name=name: advanced(name, done, updates),  # type: ignore[misc]
            )
            runs.append(
                {
                    "seed": seed,
                    "cpu_seconds": learned.cpu_seconds,
                    **measured(TorchEngine(learned.model), split()[1][:NUM_TESTED]),
                }
            )
        figures[name] = {"parameters": learned.num_parameters, "runs": runs}
    return Finding(CLAIM, RULE, _holds(figures), {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def measured(engine: TorchEngine, numbers: Sequence[int]) -> dict[str, float]:
    """Perplexity of the German words, the share found by greedy search, and the error of links read off the weights."""
    examples = [named(number) for number in numbers]
    sources, targets = [each.source for each in examples], [each.target for each in examples]
    found = engine.translate(sources, SearchSettings(beam=1))
    traced = engine.trace(sources, targets, kinds={"cross"})
    # Neither end of sentence is a word.
    linked = [links(each.layers[-1].weights.mean(axis=0)[:-1, :-1]) for each in traced]
    return {
        "perplexity": math.exp(-mean(each for line in traced for each in line.token_log_probs)),
        "exact match": mean(each[0].ids == tuple(target) for each, target in zip(found, targets, strict=True)),
        "alignment error": error_rate(linked, [each.gold for each in examples]),
    }


def _batches(seed: int) -> Iterator[Batch]:
    random, numbers = np.random.default_rng((seed, 0)), split()[0]
    while True:
        drawn = [named(numbers[place]) for place in random.integers(len(numbers), size=BATCH)]
        yield collate([each.source for each in drawn], [each.target for each in drawn])


def _mean(figures: Mapping[str, Any], name: str, what: str) -> float:
    return mean(_values(figures, name, what))


def _values(figures: Mapping[str, Any], name: str, what: str) -> list[float]:
    return [run[what] for run in figures[name]["runs"]]


def _holds(figures: Mapping[str, Any]) -> bool:
    blind = {what: _mean(figures, "global (location)", what) for what in MEASURES}
    return all(
        _mean(figures, name, "perplexity") < blind["perplexity"]
        and _mean(figures, name, "alignment error") <= blind["alignment error"] - 0.05
        for name in ("global (dot)", "global (general)")
    )


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    lines = [f"| | {' | '.join(MEASURES)} | parameters | CPU seconds |", "|---|---|---|---|---|---|"]
    for name in CONTESTANTS:
        cells = [spread(_values(finding.figures, name, what)) for what in MEASURES]
        cells += [f"{finding.figures[name]['parameters']:,}", f"{_mean(finding.figures, name, 'cpu_seconds'):.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """The three measures, a bar for each contestant."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, what in zip(figure.subplots(1, 3, sharey=True), MEASURES, strict=True):
        for place, name in enumerate(CONTESTANTS):
            found = [run[what] for run in finding.figures[name]["runs"]]
            axes.barh(place, mean(found), color="#4878a8", height=0.6)
            axes.plot(found, [place] * len(found), "o", color="black", markersize=3)
        axes.set(yticks=range(len(CONTESTANTS)), yticklabels=list(CONTESTANTS), xlabel=what)
    axes.invert_yaxis()
    figure.savefig(path, dpi=150)
