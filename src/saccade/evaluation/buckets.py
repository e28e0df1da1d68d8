"""Sentences put into buckets, each scored by itself: where is a system good, and where is it not?"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from saccade.evaluation.comparison import Comparison
from saccade.evaluation.scores import metrics
from saccade.evaluation.significance import Interval, interval, resampled, score
from saccade.evaluation.words import words

SCORED = ("BLEU", "chrF2")
QUANTILES = (0.2, 0.4, 0.6, 0.8, 0.95)
"""Of lengths: five buckets of about the same size, of which the last gives up its longest, a twentieth of all."""
FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000, 10_000)
"""Where buckets of word frequency begin."""
FEWEST = 10
"""Sentences in a bucket of lengths or frequencies, unless there are not as many at all."""
KINDS = ("statement", "question", "exclamation", "fragment", "number", "name")

_CLOSING = "\"'”’“‘»›«‹)]}」』）】》〉"  # „so“ and »so« end in what opens elsewhere
_QUESTION, _EXCLAMATION, _STATEMENT = "?？؟\u037e", "!！", ".。．｡…:：;；।۔"
_ENDING = re.compile(f"[{re.escape(_QUESTION + _EXCLAMATION + _STATEMENT)}]+$")


@dataclass(frozen=True, slots=True)
class BucketScore:
    """One system on the sentences of one bucket."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Bucket:
    """Some of the sentences."""

    label: str
    rows: tuple[int, ...]
    """Which ones, counted from 0."""
    scores: Mapping[str, Mapping[str, BucketScore]]
    """By system, then by metric: BLEU and chrF2."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """One way to put sentences into buckets; in that by kind, a sentence may lie in several."""

    name: str
    """What they are told apart by: length, frequency or kind."""
    text: str
    """What is looked at: source, reference, or training for a text of its own."""
    buckets: tuple[Bucket, ...]


Labels = list[tuple[str, list[int]]]


def by_length(texts: Sequence[str]) -> Labels:
    """By the number of words."""
    lengths = [len(words(text)) for text in texts]
    begins = sorted({min(lengths), *(int(np.quantile(lengths, share, method="lower")) + 1 for share in QUANTILES)})
    return _by_number(lengths, begins)


def by_frequency(references: Sequence[str], frequencies: Mapping[str, int]) -> Labels:
    """By how often the rarest word of the reference stands in another text; wordless ones are in no bucket."""
    rarest = [min((frequencies.get(word, 0) for word in words(text.casefold())), default=-1) for text in references]
    return _by_number(rarest, FREQUENCIES)


def by_kind(texts: Sequence[str]) -> Labels:
    """By how a sentence ends; and those with a number, and with a name."""
    found: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for row, text in enumerate(texts):
        for kind in (ending(text), has_number(text) and "number", has_name(text) and "name"):
            if kind:
                found[kind].append(row)
    return [(kind, rows) for kind, rows in found.items() if rows]


def ending(text: str) -> str:
    """question, exclamation, statement, or fragment for a title or the like that ends in no such mark."""
    marks = _ENDING.search(text.rstrip().rstrip(_CLOSING).rstrip())
    if marks is None:
        return "fragment"
    if any(mark in _QUESTION for mark in marks[0]):
        return "question"
    return "exclamation" if any(mark in _EXCLAMATION for mark in marks[0]) else "statement"


def has_number(text: str) -> bool:
    """A digit of any script, or 〇一二三… of two or more together."""
    return bool(re.search(r"\d|[〇零一二三四五六七八九十百千万亿]{2}", text))


def has_name(text: str) -> bool:
    """A word with a capital that does not begin a sentence, nor is the English I; in German that is every noun."""
    sentences = re.split(f"[{re.escape(_QUESTION + _EXCLAMATION + _STATEMENT)}]+", text)
    inner = (word for sentence in sentences for word in words(sentence)[1:])
    return any(re.split("['’]", word)[0] != "I" and word != word.lower() for word in inner)


def frequencies(lines: Iterable[str]) -> Counter[str]:
    """How often each word stands in a text, case aside."""
    return Counter(word for line in lines for word in words(line.casefold()))


def scored(name: str, text: str, labels: Labels, comparison: Comparison) -> Grouping:
    """Every bucket with the scores of every system, resampled as those of the whole set are."""
    chosen = {metric: each for metric, each in metrics(comparison.language).items() if metric in SCORED}
    buckets = []
    for label, rows in labels:
        scores: dict[str, dict[str, BucketScore]] = {system: {} for system in comparison.systems}
        for system, (metric, scorer) in ((each, pair) for each in scores for pair in chosen.items()):
            counts = comparison.counts[system][metric][rows]
            draws = resampled(scorer, counts, samples=comparison.samples, seed=comparison.seed)
            scores[system][metric] = BucketScore(score(scorer, counts), interval(draws))
        buckets.append(Bucket(label, tuple(rows), scores))
    return Grouping(name, text, tuple(buckets))


def _by_number(numbers: Sequence[int], begins: Sequence[int]) -> Labels:
    """Into ranges, each from where one begins to the next; one with very few sentences joins the range before it."""
    kept = [min((number for number in numbers if number >= begins[0]), default=begins[0])]
    for begin in begins[1:]:
        before = sum(kept[-1] <= number < begin for number in numbers)
        if before >= FEWEST and sum(number >= begin for number in numbers) >= FEWEST:
            kept.append(begin)
    labels = []
    for begin, end in pairwise([*kept, max(numbers) + 1]):
        if rows := [row for row, number in enumerate(numbers) if begin <= number < end]:
            rest = "+" if begin == kept[-1] else f"–{end - 1:,}"
            labels.append((f"{begin:,}{'' if begin == end - 1 else rest}", rows))
    return labels
