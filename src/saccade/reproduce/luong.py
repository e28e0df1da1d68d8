"""Where to look and how to score (Luong et al. 2015, Table 4 and Table 6), in small, on numbers in words."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.evaluation.alignment import error_rate
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.reproduce.numbers import NUM_TOKENS, named, split
from saccade.reproduce.pairs_task import PairsTask, exact_match
from saccade.trace.alignment import links

UPDATES, QUICK, RATE = 700, 8, 0.005
BATCH, NUM_TESTED, WINDOW = 64, 200, 2
"""A window of Luong's D = 10 would hold every one of these sources."""
SCORES = {"location": "location", "dot": "dot", "general": "general", "concat": "additive"}
"""Luong's names, and ours."""
MODELS = {
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


def batches(seed: int) -> Iterator[Batch]:
    """Numbers of the training split."""
    random, numbers = np.random.default_rng((seed, 0)), split()[0]
    while True:
        drawn = [named(numbers[place]) for place in random.integers(len(numbers), size=BATCH)]
        yield collate([number.source for number in drawn], [number.target for number in drawn])


CONTESTANTS = {name: Contestant(partial(PairsTask, model, NUM_TOKENS, batches), RATE) for name, model in MODELS.items()}


def measure(task: PairsTask, model: Any) -> dict[str, float]:
    """What a model makes of numbers held out."""
    return scores(TorchEngine(model), split()[1][:NUM_TESTED])


def scores(engine: TorchEngine, numbers: Sequence[int]) -> dict[str, float]:
    """Perplexity of the German words, the share found by greedy search, and the error of links read off the weights."""
    examples = [named(number) for number in numbers]
    sources, targets = [example.source for example in examples], [example.target for example in examples]
    traced = engine.trace(sources, targets, kinds={"cross"})
    # Neither end of sentence is a word.
    linked = [links(line.layers[-1].weights.mean(axis=0)[:-1, :-1]) for line in traced]
    return {
        "perplexity": math.exp(-mean(log_prob for line in traced for log_prob in line.token_log_probs)),
        "exact match": exact_match(engine, sources, targets),
        "alignment error": error_rate(linked, [example.gold for example in examples]),
    }


def _holds(figures: Figures) -> bool:
    blind = {what: average(figures, "global (location)", what) for what in MEASURES}
    return all(
        average(figures, name, "perplexity") < blind["perplexity"]
        and average(figures, name, "alignment error") <= blind["alignment error"] - 0.05
        for name in ("global (dot)", "global (general)")
    )


CONTEST = Contest("luong", CONTESTANTS, _holds, BATCH, measure, MEASURES)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
