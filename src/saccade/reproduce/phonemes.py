"""Attention in three kinds of model, and a fixed vector, on how English words are said, for the same CPU time."""

from collections.abc import Iterator, Sequence
from functools import partial
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
from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.reproduce.pairs_task import PairsTask
from saccade.reproduce.spoken_words import NUM_TOKENS, SpokenWord, spoken_words
from saccade.search.settings import SearchSettings

UPDATES, QUICK = 1000, 40
"""Of Bahdanau's model; the others have as many as take the same time."""
BATCH, NUM_TESTED = 64, 2000
NUM_POOLED = 20
"""Batches of words drawn at once and sorted by length, so that little is padding (Bahdanau et al. 2015, App. B)."""
MEASURES = ("phoneme error rate", "word error rate")
FIXED, RECURRENT, CONVOLUTIONAL, TRANSFORMER = "fixed vector", "Bahdanau", "ConvS2S", "Transformer"


def batches(seed: int) -> Iterator[Batch]:
    """Words of the training split without end, those of a batch about equally long."""
    random, words = np.random.default_rng((seed, 0)), spoken_words("train")
    while True:
        drawn = [words[place] for place in random.integers(len(words), size=NUM_POOLED * BATCH)]
        drawn.sort(key=lambda word: (len(word.word), len(word.phonemes)))
        for start in random.permutation(NUM_POOLED) * BATCH:
            own = drawn[start : start + BATCH]
            yield collate([word.source for word in own], [word.target for word in own])


def _contestant(model: ModelSettings, rate: float, pace: float) -> Contestant:
    """`pace`: updates in the CPU time of one of Bahdanau's, as measured where this was written; the table tells how it
    was.
    """
    return Contestant(partial(PairsTask, model, NUM_TOKENS, batches), rate, times=pace)


CONTESTANTS = {
    FIXED: _contestant(
        RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="fixed")), 0.004, 1.4
    ),
    RECURRENT: _contestant(RecurrentSettings(d_model=128, dropout=0.0), 0.004, 1.0),
    CONVOLUTIONAL: _contestant(ConvolutionalSettings(layers=3, d_model=96, dropout=0.0), 0.008, 1.3),
    TRANSFORMER: _contestant(
        TransformerSettings(layers=2, d_model=96, d_feedforward=192, num_heads=4, norm="pre", dropout=0.0), 0.004, 1.05
    ),
}
"""Rates are the best of 0.001, 0.002, 0.004 and 0.008 on the validation split, after a quarter of the updates."""


def measure(task: PairsTask, model: Any) -> dict[str, float]:
    """What a model makes of words held out."""
    return scores(TorchEngine(model), spoken_words("test")[:NUM_TESTED])


def scores(engine: TorchEngine, words: Sequence[SpokenWord]) -> dict[str, float]:
    """Edits for each phoneme, and the share of words that are not said as in the dictionary, by greedy search."""
    hypotheses = engine.translate([word.source for word in words], SearchSettings(beam=1))
    said, meant = [[*best.ids] for best, *_ in hypotheses], [word.target for word in words]
    wrong = mean(one != other for one, other in zip(said, meant, strict=True))
    return {"phoneme error rate": error_rate(said, meant), "word error rate": wrong}


def _holds(figures: Figures) -> bool:
    rate = {name: average(figures, name, "phoneme error rate") for name in CONTESTANTS}
    seconds = {name: average(figures, name, "cpu_seconds") for name in CONTESTANTS}
    return (
        max(rate[RECURRENT], rate[CONVOLUTIONAL], rate[TRANSFORMER]) <= 0.8 * rate[FIXED]
        and rate[TRANSFORMER] <= rate[RECURRENT]
        and seconds[TRANSFORMER] <= 1.1 * seconds[RECURRENT]
    )


CONTEST = Contest("phonemes", CONTESTANTS, _holds, BATCH, measure, MEASURES)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
