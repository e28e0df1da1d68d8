"""Pairs of sequences of ids as a task: strings written backwards, numbers in words, words and their phonemes."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from statistics import mean
from typing import cast

import numpy as np
from torch import nn

from saccade.data.batch import Batch
from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.engines.torch import TorchEngine
from saccade.models.build import Model, build
from saccade.models.settings import ModelSettings, RecurrentSettings
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.loss import TranslationLoss
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.training.learner import Learner

Draw = Callable[[int], Iterator[Batch]]
"""Of a seed: batches without end."""


class PairsTask:
    """A model that learns from batches of pairs as they are drawn. Keeps `Learnable` of training/task.py."""

    digest = "pairs that are drawn while they are learned from"

    def __init__(
        self, model: ModelSettings, num_tokens: int, draw: Draw, *, label_smoothing: float = 0.0, seed: int = 1
    ) -> None:
        self.model, self.num_tokens, self.draw, self.seed = model, num_tokens, draw, seed
        self.training = TranslationTrainingSettings(label_smoothing=label_smoothing)

    @property
    def d_model(self) -> int:
        """Size of the model's states."""
        return self.model.d_model

    def build(self) -> Model:
        """A new model, with one vocabulary for both sides."""
        return build(self.model, self.num_tokens, self.num_tokens)

    def learner(self, model: nn.Module) -> Learner:
        """The model with the loss of translation."""
        attention = self.model.attention if isinstance(self.model, RecurrentSettings) else None
        loss = TranslationLoss(cast(Model, model), self.training, attention)
        return Learner(model, loss, loss.baseline)

    def is_divisible(self, model: nn.Module) -> bool:
        """Claims are trained by one thread."""
        return False

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """Rank r takes every world-th batch."""
        for number, batch in islice(enumerate(self.draw(self.seed)), start.batch + rank, None, world):
            yield Loaded(Position(0, number - rank + world), np.array([number]), batch)


def exact_match(engine: TorchEngine, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> float:
    """The share of targets that greedy search writes without a mistake."""
    hypotheses = engine.translate(sources, SearchSettings(beam=1))
    return mean(best.ids == tuple(target) for (best, *_), target in zip(hypotheses, targets, strict=True))
