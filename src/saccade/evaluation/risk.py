"""Minimum Bayes risk: of several translations, the one that is most like all of them (Kumar & Byrne 2004).

Its expected utility u(h) = Σ p(r) · utility(h, r) is the highest, as any of the candidates r might be the right one.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.evaluation.scores import bleu_tokenization
from saccade.evaluation.words import ngrams

Utility = Literal["chrf", "bleu"]
"""What makes translations alike: chrF2 or BLEU of one sentence alone, as sacreBLEU has them."""
Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class MinimumRisk:
    """That the translation with the least risk is to be found, and among which."""

    samples: int = 0
    """So many translations are drawn by chance and compared; 0 compares those that the beam has found."""
    utility: Utility = "chrf"
    """What makes two translations alike: `chrf` or `bleu` of a sentence."""

    def __post_init__(self) -> None:
        if self.samples < 0 or self.samples == 1:
            raise ValueError(f"samples must be 0, or at least 2 to be compared, not {self.samples}")
        if self.utility not in get_args(Utility):
            raise ValueError(f"utility must be {' or '.join(get_args(Utility))}, not {self.utility}")


def expected_utility(
    candidates: Sequence[str], weights: Sequence[float] | None = None, *, utility: Utility = "chrf", language: str
) -> list[float]:
    """Of each candidate in this language, from 0 to 100; weights are probabilities, equal ones unless given."""
    mass: dict[str, float] = dict.fromkeys(candidates, 0.0)
    for text, weight in zip(candidates, weights or [1.0] * len(candidates), strict=True):
        mass[text] += weight
    probability = np.array(list(mass.values())) / sum(mass.values())
    expected = utilities(list(mass), utility, language=language) @ probability
    found = dict(zip(mass, expected.tolist(), strict=True))
    return [found[text] for text in candidates]


def utilities(texts: Sequence[str], utility: Utility, *, language: str) -> Matrix:
    """The utility of each text (row) if each (column) were the reference; n-grams are counted once for each text."""
    return _chrf(texts) if utility == "chrf" else _bleu(texts, bleu_tokenization(language))


def _chrf(texts: Sequence[str], beta: int = 2, orders: int = 6) -> Matrix:
    """F = (1 + β²) · P · R / (β² · P + R), with the means over all orders that both texts have n-grams of."""
    letters = ["".join(text.split()) for text in texts]
    totals, shared = _counted(letters, orders)
    both = (totals[:, None] > 0) & (totals[None, :] > 0)
    precision = (shared / np.maximum(totals, 1)[:, None]).sum(axis=-1) / np.maximum(both.sum(axis=-1), 1)
    recall = precision.T  # what both share is the same either way round
    denominator = beta**2 * precision + recall
    product = 100 * (1 + beta**2) * precision * recall
    return np.asarray(np.divide(product, denominator, out=np.zeros_like(product), where=denominator > 0))


def _bleu(texts: Sequence[str], tokenization: str, orders: int = 4) -> Matrix:
    """Of n-grams up to a text's own length; sacreBLEU's formula, with its smoothing, given the counts."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=tokenization, effective_order=True)
    words = [metric._preprocess_segment(text).split() for text in texts]
    totals, shared = _counted(words, orders)
    found = np.zeros((len(texts), len(texts)))
    for one, two in np.ndindex(found.shape):
        stats = [len(words[one]), len(words[two]), *shared[one, two].tolist(), *totals[one].tolist()]
        found[one, two] = metric._compute_score_from_stats(stats).score
    return found


def _counted(sequences: Sequence[Sequence[Hashable]], orders: int) -> tuple[Counts, Counts]:
    """How many n-grams of each order a text has, and how many each two of them share: texts × (texts ×) orders."""
    totals = np.array([[max(0, len(each) + 1 - order) for order in range(1, orders + 1)] for each in sequences])
    shared = np.stack([_shared([ngrams(each, order) for each in sequences]) for order in range(1, orders + 1)], axis=-1)
    return totals, shared


def _shared(texts: Sequence[Counter[tuple[Hashable, ...]]]) -> Counts:
    """Σ min(c(g), c'(g)) over all n-grams g, for each two texts."""
    places = {gram: place for place, gram in enumerate({gram for counts in texts for gram in counts})}
    table = np.zeros((len(texts), len(places)), dtype=np.int64)
    for row, counts in zip(table, texts, strict=True):
        for gram, count in counts.items():
            row[places[gram]] = count
    return np.array([np.minimum(row, table).sum(axis=1) for row in table])
