"""Precision |A∩P| / |A|, recall |A∩S| / |S| and error rate 1 − (|A∩S| + |A∩P|) / (|A| + |S|) of links A over a corpus.

S are the sure and P the possible links that people drew, S ⊆ P (Och & Ney 2003, eq. 22).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.trace import alignment
from saccade.trace.alignment import HeadSelection, Link, between_words, flipped, head_selections
from saccade.trace.pharaoh import Gold
from saccade.trace.trace import AttentionTrace, Matrix

SAMPLES, SEED = 1000, 12345
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """Shares from 0 to 1; the lower an error rate, the better."""

    precision: float
    recall: float
    error_rate: float
    low: float
    high: float
    """Between these lies the error rate of 95 % of the corpora drawn from this one's sentences, with replacement."""
    num_links: int
    num_sentences: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher the error rate of one aligner is than another's, on the same sentences."""

    value: float
    low: float
    high: float
    """95 % of the corpora drawn from the sentences, the same for both, lie between."""


def score(
    found: Sequence[Iterable[Link]], gold: Sequence[Gold], *, samples: int = SAMPLES, seed: int = SEED
) -> AlignmentScore:
    """Precision, recall and error rate of links, with a bootstrap interval over sentences."""
    counts = _counts(found, gold)
    sure, possible, total, wanted = counts.sum(axis=0)
    low, high = _interval(_error_rate(_resampled(counts, samples, seed)))
    return AlignmentScore(
        precision=float(possible / total) if total else 0.0,
        recall=float(sure / wanted) if wanted else 0.0,
        error_rate=float(_error_rate(counts.sum(axis=0))),
        low=low,
        high=high,
        num_links=int(total),
        num_sentences=len(gold),
    )


def error_rate(found: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> float:
    """The alignment error rate alone."""
    return float(_error_rate(_counts(found, gold).sum(axis=0)))


def difference(worse: Sequence[Iterable[Link]], better: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> Difference:
    """The error rate of `worse` minus that of `better`; an interval above 0 says that chance does not explain it."""
    pair = [_counts(found, gold) for found in (worse, better)]
    drawn = [_error_rate(_resampled(counts)) for counts in pair]
    low, high = _interval(drawn[0] - drawn[1])
    value = _error_rate(pair[0].sum(axis=0)) - _error_rate(pair[1].sum(axis=0))
    return Difference(float(value), low, high)


def diagonal(num_sources: int, num_targets: int) -> list[Link]:
    """Each target word with the source word at the same height: word t of T lies at (t + ½) / T of its sentence."""
    if not num_sources:
        return []
    return [((2 * target + 1) * num_sources // (2 * num_targets), target) for target in range(num_targets)]


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A sentence pair whose weights are to become links between the words of a given segmentation."""

    trace: AttentionTrace
    source: Matrix
    target: Matrix
    """`shares` of each side's tokens in its words."""

    def weights(self, selection: HeadSelection) -> Matrix:
        """Target words × source words."""
        weights = between_words(selection.weights(self.trace), self.source, self.target)
        return alignment.balanced(weights) if selection.balanced else weights

    def links(self, selection: HeadSelection, threshold: float | None = None) -> list[Link]:
        """Links from source words to target words: by arg-max, or all of so much weight."""
        weights = self.weights(selection)
        return alignment.links(weights) if threshold is None else alignment.links_above(weights, threshold)


@dataclass(frozen=True, slots=True)
class Tried:
    """A selection of heads, and how it does on held-out sentences."""

    name: str
    selection: HeadSelection
    error_rate: float


def choose(pairs: Sequence[Aligned], gold: Sequence[Gold]) -> list[Tried]:
    """Every selection of heads, the best on these sentences first. Measure the winner on other sentences."""
    tried = [
        Tried(name, selection, error_rate([pair.links(selection) for pair in pairs], gold))
        for name, selection in _ways(pairs)
    ]
    return sorted(tried, key=lambda each: each.error_rate)


def choose_by_agreement(forward: Sequence[Aligned], backward: Sequence[Aligned]) -> tuple[list[Tried], list[Tried]]:
    """Selections of heads of two models of opposite directions, the best first, without gold: by their agreement.

    The two means of layers that agree best (Chen et al. 2020) are the gold for the selections of the other direction;
    single heads may agree on something else than words.
    """
    there, back = (
        {selection: [pair.links(selection) for pair in pairs] for name, selection in _ways(pairs) if "head" not in name}
        for pairs in (forward, backward)
    )
    turned = {selection: [Gold.of(flipped(line)) for line in lines] for selection, lines in back.items()}
    one, other = min(product(there, turned), key=lambda pair: error_rate(there[pair[0]], turned[pair[1]]))
    return choose(forward, turned[other]), choose(backward, [Gold.of(flipped(line)) for line in there[one]])


def _ways(pairs: Sequence[Aligned]) -> Iterator[tuple[str, HeadSelection]]:
    if not pairs:
        raise DataError("Heads are chosen on sentence pairs, but there are none. Give files that are not empty.")
    return head_selections(pairs[0].trace)


def _counts(found: Sequence[Iterable[Link]], gold: Sequence[Gold]) -> Counts:
    """|A∩S|, |A∩P|, |A|, |S| of each sentence."""
    if len(found) != len(gold):
        raise DataError(
            f"Links of sentence n are scored against line n of the gold, but there are {len(found)} sentences and "
            f"{len(gold)} lines. Give files with the same number of lines; a blank line counts as a line."
        )
    if not gold:
        raise DataError("An alignment is scored on at least one sentence, but there are none.")
    rows = [
        (len(each & line.sure), len(each & line.possible), len(each), len(line.sure))
        for each, line in zip(map(frozenset, found), gold, strict=True)
    ]
    return np.array(rows, dtype=np.int64)


def _error_rate(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of counts in the last axis. Without any link, found or sure, nothing was missed: 0."""
    sure, possible, total, wanted = np.moveaxis(counts, -1, 0)
    size = np.asarray(total + wanted, dtype=float)
    return np.asarray(1 - np.divide(sure + possible, size, out=np.ones_like(size), where=size > 0))


def _resampled(counts: Counts, samples: int = SAMPLES, seed: int = SEED) -> Counts:
    """The counts of so many corpora, whose sentences are drawn with replacement."""
    drawn = np.random.default_rng(seed).integers(len(counts), size=(samples, len(counts)))
    return np.asarray(counts[drawn].sum(axis=1))


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
