"""Attention in three kinds of model, and a fixed vector, on how English words are said, for the same CPU time."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.evaluation.edits import error_rate
from saccade.models.settings import (
    AttentionSettings,
    ConvolutionalSettings,
    ModelSettings,
    RecurrentSettings,
    TransformerSettings,
)
from saccade.reproduce.claim import learn
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.reproduce.spoken_words import NUM_TOKENS, SpokenWord, spoken_words
from saccade.search.settings import SearchSettings

CLAIM = (
    "Attention does better than a fixed vector (Bahdanau et al. 2015, Table 1), and can do without recurrence: with "
    "convolutions (Gehring et al. 2017, Table 1), and in the Transformer, which is better at a fraction of the cost of "
    "training (Vaswani et al. 2017, Table 2)."
)
RULE = (
    "Trained for about the same CPU time to say English words, the phoneme error rate on words never seen is, with "
    "each of the three kinds of attention, at most 0.8 of that with the fixed vector; and the Transformer's is no "
    "higher than Bahdanau's, for at most 1.1 times its CPU seconds; on the mean of all seeds. ConvS2S beside the other "
    "two is told, and judges nothing."
)
UPDATES, QUICK = 1000, 40
"""Of Bahdanau's model; the others have as many as take the same time."""
BATCH, NUM_TESTED = 64, 2000
NUM_POOLED = 20
"""Batches of words drawn at once and sorted by length, so that little is padding (Bahdanau et al. 2015, App. B)."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model, and how it learns."""

    settings: ModelSettings
    rate: float
    pace: float
    """Updates in the CPU time of one of Bahdanau's, as measured where this was written; the table tells how it was."""


FIXED, RECURRENT, CONVOLUTIONAL, TRANSFORMER = "fixed vector", "Bahdanau", "ConvS2S", "Transformer"
CONTESTANTS: Mapping[str, Contestant] = {
    FIXED: Contestant(
        RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="fixed")), 0.004, 1.4
    ),
    RECURRENT: Contestant(RecurrentSettings(d_model=128, dropout=0.0), 0.004, 1.0),
    CONVOLUTIONAL: Contestant(ConvolutionalSettings(layers=3, d_model=96, dropout=0.0), 0.008, 1.3),
    TRANSFORMER: Contestant(
        TransformerSettings(layers=2, d_model=96, d_feedforward=192, num_heads=4, norm="pre", dropout=0.0), 0.004, 1.05
    ),
}
"""Rates are the best of 0.001, 0.002, 0.004 and 0.008 on the validation split, after a quarter of the updates."""
MEASURES = ("phoneme error rate", "word error rate")


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for the time that Bahdanau's takes for so many updates of 64 words, and test it."""
    words = spoken_words("test")[:NUM_TESTED]
    figures: dict[str, Any] = {}
    for name, each in CONTESTANTS.items():
        own, runs = round(each.pace * updates), []
        for seed in seeds:
            began = time.process_time()
            learned = learn(
                each.settings,
                NUM_TOKENS,
                batches(seed),
                updates=own,
                rate=each.rate,
                seed=seed,
                advanced=lambda done, name=name, own=own: advanced(name, done, own),  # type: ignore[misc]
            )
            seconds = round(time.process_time() - began, 1)
            runs.append({"seed": seed, "cpu_seconds": seconds, **measured(TorchEngine(learned.model), words)})
        figures[name] = {"parameters": learned.num_parameters, "updates": own, "runs": runs}
    return Finding(CLAIM, RULE, _holds(figures), {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def measured(engine: TorchEngine, words: Sequence[SpokenWord]) -> dict[str, float]:
    """Edits for each phoneme, and the share of words that are not said as in the dictionary, by greedy search."""
    hypotheses = engine.translate([each.source for each in words], SearchSettings(beam=1))
    found, wanted = [[*best.ids] for best, *_ in hypotheses], [each.target for each in words]
    wrong = mean(said != meant for said, meant in zip(found, wanted, strict=True))
    return {"phoneme error rate": error_rate(found, wanted), "word error rate": wrong}


def batches(seed: int) -> Iterator[Batch]:
    """Words of the training split without end, those of a batch about equally long."""
    random, words = np.random.default_rng((seed, 0)), spoken_words("train")
    while True:
        drawn = [words[place] for place in random.integers(len(words), size=NUM_POOLED * BATCH)]
        drawn.sort(key=lambda each: (len(each.word), len(each.phonemes)))
        for start in random.permutation(NUM_POOLED) * BATCH:
            own = drawn[start : start + BATCH]
            yield collate([each.source for each in own], [each.target for each in own])


def _mean(figures: Mapping[str, Any], name: str, what: str) -> float:
    return float(mean(run[what] for run in figures[name]["runs"]))


def _holds(figures: Mapping[str, Any]) -> bool:
    rate = {name: _mean(figures, name, "phoneme error rate") for name in CONTESTANTS}
    seconds = {name: _mean(figures, name, "cpu_seconds") for name in CONTESTANTS}
    return (
        max(rate[RECURRENT], rate[CONVOLUTIONAL], rate[TRANSFORMER]) <= 0.8 * rate[FIXED]
        and rate[TRANSFORMER] <= rate[RECURRENT]
        and seconds[TRANSFORMER] <= 1.1 * seconds[RECURRENT]
    )


def table(finding: Finding) -> str:
    """The figures in Markdown, with their spread over seeds."""
    lines = [f"| | {' | '.join(MEASURES)} | parameters | updates | CPU seconds |", "|---|---|---|---|---|---|"]
    for name, each in finding.figures.items():
        cells = [spread([run[what] for run in each["runs"]]) for what in MEASURES]
        cells += [
            f"{each['parameters']:,}",
            f"{each['updates']:,}",
            f"{_mean(finding.figures, name, 'cpu_seconds'):.0f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Both error rates, a bar for each contestant and a dot for each seed."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(7, 2.6), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2, sharey=True), MEASURES, strict=True):
        for place, each in enumerate(finding.figures.values()):
            found = [run[what] for run in each["runs"]]
            axes.barh(place, mean(found), color="#4878a8", height=0.6)
            axes.plot(found, [place] * len(found), "o", color="black", markersize=4)
        axes.set(yticks=range(len(finding.figures)), yticklabels=list(finding.figures), xlabel=what)
    axes.invert_yaxis()
    figure.savefig(path, dpi=150)
