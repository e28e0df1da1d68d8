"""sacreBLEU's bootstrap and randomization, number for number, but every sentence is counted once for all tests."""

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import SaccadeError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Counts = NDArray[np.float64]
"""Sentences × what a metric counts in each of them, such as matching n-grams."""
Values = NDArray[np.float64]

Test = Literal["bootstrap", "randomization"]
SAMPLES: dict[Test, int] = {"bootstrap": 1000, "randomization": 10_000}
"""How often each test draws, unless told otherwise."""
SURE = 0.05
"""A difference with a smaller p is called significant."""
_DRAWN_AT_ONCE = 1 << 22  # numbers: 32 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """Where the score of 95 in 100 resampled test sets lies."""

    mean: float
    """Over all resampled test sets."""
    lower: float
    upper: float

    @property
    def margin(self) -> float:
        """Half its width: what stands after ± in sacreBLEU's tables."""
        return 0.5 * (self.upper - self.lower)


def chosen_seed() -> tuple[int, str]:
    """The seed that sacreBLEU takes and its word for it: SACREBLEU_SEED, else 12345; `none` is another each time."""
    word = os.environ.get("SACREBLEU_SEED", "12345").lower()
    if word == "none":
        return secrets.randbits(64), word
    if not (word.isascii() and word.isdecimal()):
        raise SaccadeError(
            f"SACREBLEU_SEED must be a whole number, or none for other draws each time, but it is {word!r}. "
            "Change or unset it."
        )
    return int(word), str(int(word))


def counted(metric: "Metric", hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Counts:
    """What the metric counts in each sentence; `references` are the lines of one file after another."""
    return np.array(metric._extract_corpus_statistics(hypotheses, references), dtype=np.float64)


def score(metric: "Metric", counts: Counts) -> float:
    """The score of all these sentences together."""
    return float(metric._compute_score_from_stats(counts.sum(axis=0).tolist()).score)


def resampled(metric: "Metric", counts: Counts, *, samples: int, seed: int) -> Values:
    """The scores of test sets of the same size drawn from these sentences, with repetition."""
    smaller = counts.astype(np.float32)  # as sacreBLEU does
    drawn = _draws(len(counts), samples, seed)
    return np.array([metric._compute_score_from_stats(smaller[rows].sum(axis=0)).score for rows in drawn])


def interval(values: Values) -> Interval:
    """Of the scores of resampled test sets: without the lowest and the highest fortieth."""
    ordered = np.sort(values)
    outside = len(ordered) // 40
    return Interval(float(ordered.mean()), float(ordered[outside]), float(ordered[-1 - outside]))


def bootstrap_p(first: Values, other: Values, difference: float) -> float:
    """How often chance alone makes two systems differ by more than they do; both were resampled with one seed."""
    differences = np.abs(other - first)
    return _share_above(differences - differences.mean(), abs(difference))


def randomization_p(metric: "Metric", first: Counts, other: Counts, *, samples: int, seed: int) -> float:
    """The same question, answered by swapping the two systems' translations of random sentences."""
    difference = abs(score(metric, first) - score(metric, other))
    generator = np.random.default_rng(seed)
    shuffled = []
    # A draw of bits begins with a fresh 32 of them, so only whole 32s may be drawn by themselves.
    for size in _chunks(samples, len(first), of=32):
        swap = generator.integers(2, size=(size, len(first)), dtype=bool)
        mixed = (swap @ first + ~swap @ other, ~swap @ first + swap @ other)
        left, right = (
            np.array([metric._compute_score_from_stats(row).score for row in side.tolist()]) for side in mixed
        )
        shuffled.append(np.abs(left - right))
    return _share_above(np.concatenate(shuffled), difference)


def _share_above(values: NDArray[np.floating[Any]], difference: float) -> float:
    """One more is counted than was found, so that no difference is ever called impossible."""
    return (int((values > difference).sum()) + 1) / (len(values) + 1)


def _draws(num_sentences: int, samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Rows of the sentences in each resampled test set; drawn in parts, as the draws of a large set fill the memory."""
    generator = np.random.default_rng(seed)
    for size in _chunks(samples, num_sentences):
        yield from generator.choice(num_sentences, size=(size, num_sentences), replace=True)


def _chunks(samples: int, num_sentences: int, of: int = 1) -> Iterator[int]:
    largest = max(1, _DRAWN_AT_ONCE // num_sentences // of) * of
    for begin in range(0, samples, largest):
        yield min(largest, samples - begin)
