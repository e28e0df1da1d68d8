"""Length hurts a fixed vector, and not attention (Bahdanau et al. 2015, Figure 2), on strings written backwards."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, ModelSettings, RecurrentSettings, TransformerSettings
from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.reproduce.pairs_task import PairsTask
from saccade.reproduce.strings import BATCH, NUM_TOKENS, share_right, string_batches

UPDATES, QUICK = 1000, 100
LONGEST = 20
LENGTHS = (5, 10, 15, 16, 17, 18, 19, 20, 25, 30)
"""Shorter strings are left out: training has seen most of them."""
JUDGED = range(15, 21)
NUM_TESTED = 200
FIXED, ATTENDING = "fixed vector", "Bahdanau"
MODELS: Mapping[str, ModelSettings] = {
    FIXED: RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="fixed")),
    ATTENDING: RecurrentSettings(d_model=128, dropout=0.0, attention=AttentionSettings(positions="global")),
    "Transformer": TransformerSettings(layers=2, d_model=96, d_feedforward=192, num_heads=4, norm="pre", dropout=0.0),
}
BATCHES = partial(string_batches, LONGEST, step=-1)
RATES = {FIXED: 0.003, ATTENDING: 0.003, "Transformer": 0.002}


CONTESTANTS = {
    name: Contestant(partial(PairsTask, model, NUM_TOKENS, BATCHES), RATES[name]) for name, model in MODELS.items()
}


def measure(task: PairsTask, model: Any) -> dict[str, dict[int, float]]:
    """The share of new strings that are written backwards without a mistake, by length."""
    engine = TorchEngine(model)
    return {
        "exact match": {length: share_right(engine, length, task.seed, count=NUM_TESTED, step=-1) for length in LENGTHS}
    }


def _holds(figures: Figures) -> bool:
    by_length = {name: [average(figures, name, "exact match", length) for length in JUDGED] for name in CONTESTANTS}
    return max(by_length[FIXED]) <= 0.05 and min(by_length[ATTENDING]) >= 0.8


CONTEST = Contest("length", CONTESTANTS, _holds, BATCH, measure, ("exact match",), size="length", largest=LONGEST)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
