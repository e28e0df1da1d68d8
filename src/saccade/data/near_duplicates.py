"""Sentences that are nearly the same, and a hold-out that training sentences come nowhere near. No torch here.

Two sentences are near-duplicates if they share most of their character trigrams, case and digits aside. A model that
has learned one of them knows the other, so a score on it would flatter.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NEAR = 0.7
"""Trigrams that two near-duplicates share: twice their number by those of both. About a 75 % match in a translation
memory; with 0.7, one word in six may differ."""
_POOL = 4
"""Candidates for each sentence to be held out: those with the fewest near-duplicates are taken."""

Trigrams = frozenset[str]
_DIGITS = re.compile(r"\d")


def trigrams(text: str) -> Trigrams:
    """All runs of three characters, with a space before the first and after the last word."""
    plain = f" {' '.join(_DIGITS.sub('0', text.casefold()).split())} "
    return frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2)))


def similarity(a: Trigrams, b: Trigrams) -> float:
    """2 |A∩B| / (|A| + |B|), from 0 to 1 (Dice)."""
    return 2 * len(a & b) / (len(a) + len(b))


class NearIndex:
    """Finds which of some sentences a sentence is a near-duplicate of."""

    def __init__(self, texts: Sequence[str]) -> None:
        known = [trigrams(text) for text in texts]
        self._sizes = np.array([len(each) for each in known], np.int64)
        having: dict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(known):
            for trigram in each:
                having[trigram].append(number)
        self._having = {trigram: np.array(numbers) for trigram, numbers in having.items()}

    def near(self, text: str) -> list[int]:
        """The numbers of those that it is a near-duplicate of."""
        own, having = trigrams(text), self._having
        lists = [having[trigram] for trigram in own if trigram in having]
        if not lists:
            return []
        shared = np.bincount(np.concatenate(lists), minlength=len(self._sizes))
        found: list[int] = np.flatnonzero(2 * shared >= NEAR * (self._sizes + len(own))).tolist()
        return found


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Which rows are held out, and which others are dropped for being near to them."""

    rows: tuple[int, ...]
    dropped: tuple[int, ...]


def hold_out(texts: Sequence[str], count: int, *, most_dropped: int, seed: int) -> HoldOut:
    """Up to `count` rows without near-duplicates among the others, of which `most_dropped` may be dropped to that end.

    Fewer are found where most sentences are alike. Which are taken is a function of texts and seed.
    """
    order = np.random.default_rng(seed).permutation(len(texts)).tolist()
    pool = order[: _POOL * count]
    neighbours = _neighbours(texts, pool)
    chosen: list[int] = []
    dropped: set[int] = set()
    for row in sorted(pool, key=lambda row: len(neighbours[row])):  # stable, so sampled among equals
        if len(chosen) == count:
            break
        if row not in dropped and len(dropped | neighbours[row]) <= most_dropped:
            chosen.append(row)
            dropped |= neighbours[row]
    return HoldOut(tuple(sorted(chosen)), tuple(sorted(dropped.difference(chosen))))


def _neighbours(texts: Sequence[str], pool: Sequence[int]) -> dict[int, set[int]]:
    """The rows that are near to each row of the pool, itself aside."""
    index = NearIndex([texts[row] for row in pool])
    found: dict[int, set[int]] = {row: set() for row in pool}
    for row, text in enumerate(texts):
        for number in index.near(text):
            if pool[number] != row:
                found[pool[number]].add(row)
    return found
