"""Trains a model of its own in a process of its own, on batches of ever new shapes; prints resident memory in MiB.

test_memory.py starts it and looks at the figures: after 12 updates, after a validation and 12 more, and at most.
"""

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # read when torch is loaded

import numpy as np

from saccade.data.batch import collate
from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.engines.torch import TorchEngine
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.loss import TranslationLoss
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.training.estimate import estimate, peak_bytes
from saccade.training.learner import Learner
from saccade.training.loop import Training
from saccade.training.run import Run
from saccade.training.task import Validation

VOCABULARY, BATCH_TOKENS = 8000, 500
MODEL = TransformerSettings(layers=1, d_model=64, d_feedforward=128, num_heads=2, norm="pre")
TRAINING = TranslationTrainingSettings(batch_tokens=BATCH_TOKENS, threads=2, device="cpu", updates=40)


class Noise:
    """Random tokens in batches of any width."""

    digest, batches_per_epoch, d_model = "", 1000, MODEL.d_model

    def build(self) -> Model:
        return build(MODEL, VOCABULARY, VOCABULARY)

    def learner(self, model: Model) -> Learner:
        return Learner(model, TranslationLoss(model, TRAINING))

    def is_divisible(self, model: Model) -> bool:
        return True

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        for number in count(start.batch):
            rng = np.random.default_rng(number)
            width = int(rng.integers(4, 60))
            yield Loaded(Position(0, number + 1), np.zeros(1, int), collate(*_texts(rng, BATCH_TOKENS // width, width)))

    def validate(self, model: Model, update: int) -> Validation:
        sources, targets = _texts(np.random.default_rng(1), 70, 60)
        engine = TorchEngine(model)
        engine.score(sources, targets)
        engine.translate(sources, SearchSettings(max_length_factor=0.0, max_length_extra=5))
        return Validation(update, 0.0, 0.0, ("", ""))


def _texts(rng: np.random.Generator, rows: int, width: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return tuple([rng.integers(4, VOCABULARY, n) for n in rng.integers(width // 2, width, rows)] for _ in range(2))  # type: ignore[return-value]


def resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024


def training() -> Training:
    recipe = SimpleNamespace(training=TRAINING, model=MODEL)
    return Training(Run(Path("nowhere"), recipe), Noise())  # type: ignore[arg-type]


def main(what: str) -> None:
    if what == "estimate":
        told = estimate(training()).peak_bytes
        assert told is not None
        print(told // 2**20)
        return
    learning = training()
    batches = learning.batches(Position())
    for _ in range(2):
        for _ in range(12):
            learning.update(batches)
        print(resident())
        learning.measure(learning.parameters())
    peak = peak_bytes()
    assert peak is not None
    print(peak // 2**20)


if __name__ == "__main__":
    main(sys.argv[1])
