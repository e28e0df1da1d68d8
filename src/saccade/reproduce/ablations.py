"""What the parts of a Transformer are worth (Vaswani et al. 2017, Table 3), in small, on strings written backwards."""

import math
from dataclasses import replace
from functools import partial
from statistics import mean
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from saccade.engines.torch import TorchEngine
from saccade.models.build import Model
from saccade.models.settings import TransformerSettings
from saccade.nn.axes import States
from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.reproduce.pairs_task import PairsTask, exact_match
from saccade.reproduce.strings import BATCH, NUM_TOKENS, random_strings, string_batches

UPDATES, QUICK, RATE = 600, 12, 0.003
LONGEST, TESTED, NUM_TESTED = 10, 8, 100
BATCHES = partial(string_batches, LONGEST, step=-1)
BASE = TransformerSettings(layers=2, d_model=64, d_feedforward=128, num_heads=4, norm="pre", dropout=0.1)


class LearnedPositions(nn.Module):
    """Stands in for `Positions`, with a vector for each position that is learned like any other (Table 3, row E)."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(LONGEST + 2, BASE.d_model)  # the longest string, its end, and one to spare

    def forward(self, states: States, start: int = 0) -> States:
        """The first vector stands at position `start`; behind the table's end, at its last."""
        places = torch.arange(start, start + states.shape[1]).clamp(max=self.table.num_embeddings - 1)
        placed: Tensor = states + self.table(places)
        return placed


class NoPositions(nn.Module):
    """Stands in for `Positions`, and adds nothing."""

    def forward(self, states: States, start: int = 0) -> States:
        """The states as they came."""
        return states


class WithoutPositions(PairsTask):
    """A Transformer that does not know any."""

    stand_in: ClassVar[type[nn.Module]] = NoPositions

    def build(self) -> Model:
        """A new model."""
        model = super().build()
        model.positions = self.stand_in()
        return model


class WithLearnedPositions(WithoutPositions):
    """A Transformer that learns its positions."""

    stand_in = LearnedPositions


def _row(model: TransformerSettings = BASE, smoothing: float = 0.1, task: type[PairsTask] = PairsTask) -> Contestant:
    """A row of the table: in what it differs from the first."""
    return Contestant(partial(task, model, NUM_TOKENS, BATCHES, label_smoothing=smoothing), RATE)


WITH, WITHOUT = "base: 4 heads, d_k 16", "without positions"
CONTESTANTS = {
    WITH: _row(),
    "1 head, d_k 64": _row(replace(BASE, num_heads=1)),
    "16 heads, d_k 4": _row(replace(BASE, num_heads=16)),
    "1 layer": _row(replace(BASE, layers=1)),
    "dropout 0": _row(replace(BASE, dropout=0.0)),
    "label smoothing 0": _row(smoothing=0.0),
    "learned positions": _row(task=WithLearnedPositions),
    WITHOUT: _row(task=WithoutPositions),
}


def measure(task: PairsTask, model: Any) -> dict[str, float]:
    """Perplexity of new strings written backwards, and the share that greedy search writes without a mistake."""
    return scores(TorchEngine(model), task.seed)


def scores(engine: TorchEngine, seed: int) -> dict[str, float]:
    """The same of any engine."""
    strings = random_strings(np.random.default_rng((seed, 1)), NUM_TESTED, TESTED, TESTED)
    sources, targets = [string.tolist() for string in strings], [string[::-1].tolist() for string in strings]
    log_probs = [log_prob for line in engine.token_log_probs(sources, targets) for log_prob in line]
    return {"perplexity": math.exp(-mean(log_probs)), "exact match": exact_match(engine, sources, targets)}


def _holds(figures: Figures) -> bool:
    return average(figures, WITHOUT, "exact match") <= 0.05 and average(figures, WITH, "exact match") >= 0.9


CONTEST = Contest("ablations", CONTESTANTS, _holds, BATCH, measure, ("exact match", "perplexity"))
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
