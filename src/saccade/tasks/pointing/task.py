"""The task of points: numbers sorted, hulls and tours found, by pointing at elements."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from torch import Tensor, nn

from saccade.errors import DataError
from saccade.nn.mode import evaluating
from saccade.search.settings import SearchSettings
from saccade.tasks.generated import TEST, GeneratedTask
from saccade.tasks.pointing.engine import PointerEngine, label
from saccade.tasks.pointing.geometry import Points, answer_scores, exact_match, need_enough
from saccade.tasks.pointing.model import PointerNetwork
from saccade.tasks.pointing.points import D_INPUT, PointBatch, collate, draw, solve
from saccade.tasks.pointing.settings import PointerSettings, PointsSettings
from saccade.trace.trace import AttentionTrace

NUM_TESTED = 500


class PointingTask(GeneratedTask[PointsSettings, PointerSettings, PointBatch]):
    """Sets of elements that are spread evenly."""

    measure = "exact match"

    def build(self) -> PointerNetwork:
        return PointerNetwork(self.model, D_INPUT[self.task.kind])

    def draw(self, random: np.random.Generator, count: int) -> PointBatch:
        sets = draw(random, count, self.task.smallest, self.task.largest, D_INPUT[self.task.kind])
        return collate(sets, solve(self.task.kind, sets))

    def loss(self, model: nn.Module, batch: PointBatch) -> Tensor:
        """The cross-entropy of all answers and stops."""
        mask = batch.target_mask
        return nn.functional.cross_entropy(model(batch)[mask], batch.target[mask], reduction="sum")

    def quality(self, model: nn.Module, batch: PointBatch) -> float:
        """The share of answers without a mistake, by greedy search."""
        answers = PointerEngine(cast(PointerNetwork, model)).answer(batch.sets)
        return exact_match([answer.order for answer in answers], batch.orders)

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """The figures of all sizes together, and then of each size that is asked for."""
        figures = dict(super().evaluate(model))
        for size in self.task.test_sizes:
            figures |= {f"{name} of {size}": value for name, value in self.measure_size(model, size).items()}
        return figures

    def measure_size(self, model: nn.Module, size: int, search: SearchSettings | None = None) -> dict[str, float]:
        """The figures of new sets of one size, by the search of the recipe unless another is given."""
        kind = self.task.kind
        sets = draw(self.random(TEST, size), NUM_TESTED, size, size, D_INPUT[kind])
        engine, right = PointerEngine(cast(PointerNetwork, model)), solve(kind, sets)
        with evaluating(model):
            answers = [answer.order for answer in engine.answer(sets, search or self.search)]
        return answer_scores(kind, sets, answers, right)

    def sample(self, model: nn.Module, batch: PointBatch) -> tuple[str, str]:
        """The first set, and its answer."""
        points = batch.sets[0]
        (answer,) = PointerEngine(cast(PointerNetwork, model)).answer([points])
        return _spell(points), _spell(points[list(answer.order)])

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What each step of the answer points at."""
        points = self.example().sets[0] if text is None else self._read(text)
        engine = PointerEngine(cast(PointerNetwork, model))
        with evaluating(model):
            (answer,) = engine.answer([points], self.search)
            return engine.trace([points], [answer.order])

    def _read(self, text: str) -> Points:
        """A set as people write it: 0.3 0.1 0.2, or 0.1,0.9 0.5,0.2 0.7,0.7."""
        d_input, words = D_INPUT[self.task.kind], text.split()
        points = [_numbers(word) for word in words]
        wrong = [word for word, numbers in zip(words, points, strict=True) if len(numbers) != d_input]
        if wrong or not words:
            wanted = {
                1: "What is to be sorted must be numbers with blanks between, such as 0.3 0.1 0.2",
                2: "Points must be pairs of numbers with blanks between, such as 0.1,0.9 0.5,0.2 0.7,0.7",
            }
            came = f"{wrong[0]} is none" if wrong else "there is none at all"
            raise DataError(f"{wanted[d_input]}, but {came}.")
        if self.task.kind != "sort":
            need_enough("A convex hull" if self.task.kind == "hull" else "A tour", len(points))
        return np.array(points)


def _numbers(word: str) -> list[float]:
    """The finite numbers of an element, or none."""
    try:
        numbers = [float(part) for part in word.split(",")]
    except ValueError:
        return []
    return numbers if np.isfinite(numbers).all() else []


def _spell(points: Points) -> str:
    return " ".join(map(label, points))


open_task = PointingTask.of
