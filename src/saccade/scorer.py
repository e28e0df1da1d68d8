"""Given translations and how likely a model finds them, for any number of pairs, in memory that does not grow."""

from collections.abc import Iterable, Iterator
from itertools import islice

from saccade.text.normalize import normalize
from saccade.translation import Scored
from saccade.translator import Translator

CHUNK = 1000  # pairs read, sorted by length and scored at a time


def score_pairs(translator: Translator, pairs: Iterable[tuple[str, str]]) -> Iterator[Scored | None]:
    """Of pairs in their order, as they become ready; None where a side is blank."""
    pairs = iter(pairs)
    while chunk := list(islice(pairs, CHUNK)):
        full = [all(normalize(side) for side in pair) for pair in chunk]
        sides = ([pair[side] for pair, is_full in zip(chunk, full, strict=True) if is_full] for side in (0, 1))
        found = iter(translator.score_tokens(*sides))
        yield from (next(found) if is_full else None for is_full in full)
