"""Numbers in words, English with German, and which word stands for which: twenty one is ein und zwanzig, crosswise.

German words are cut into the parts they are made of. 1 to 999,999, and no number is in both splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from saccade.text.tokenizer import EOS
from saccade.trace.alignment import Link
from saccade.trace.pharaoh import Gold

LAST, NUM_HELD_OUT = 999_999, 500


def _pair(english: str, german: str) -> dict[str, str]:
    return dict(zip(english.split(), german.split(), strict=True))


UNITS = _pair("one two three four five six seven eight nine", "ein zwei drei vier fünf sechs sieben acht neun")
ALONE = _pair("ten eleven twelve", "zehn elf zwölf")
TEENS = _pair("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", "drei vier fünf sech sieb acht neun")
"""What comes before zehn."""
TENS = _pair(
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
)
SIZES = {"thousand": "tausend", "hundred": "hundert"}
_PAIRS = UNITS | ALONE | TEENS | TENS | SIZES
WORDS = tuple(dict.fromkeys((*_PAIRS, *_PAIRS.values(), "eins", "und")))
IDS = {word: id for id, word in enumerate(WORDS, start=EOS + 1)}
NUM_TOKENS = EOS + 1 + len(WORDS)
"""Specials, and the words of both languages."""


@dataclass(frozen=True, slots=True)
class NamedNumber:
    """A number in both languages."""

    english: tuple[str, ...]
    german: tuple[str, ...]
    gold: Gold
    """Links from English to German. That of `und`, which English does not say, is merely possible."""

    @property
    def source(self) -> list[int]:
        """The English words as ids."""
        return [IDS[word] for word in self.english]

    @property
    def target(self) -> list[int]:
        """The German ones."""
        return [IDS[word] for word in self.german]


class _Written:
    """Words of both languages that belong together, one piece after another."""

    def __init__(self) -> None:
        self.english: list[str] = []
        self.german: list[str] = []
        self.sure: list[Link] = []
        self.possible: list[Link] = []

    def add(
        self, english: Sequence[str], german: Sequence[str], sure: Sequence[Link], also: Sequence[Link] = ()
    ) -> None:
        """More words, with links that are counted from these."""
        here, there = len(self.english), len(self.german)
        self.sure += [(here + source, there + target) for source, target in sure]
        self.possible += [(here + source, there + target) for source, target in also]
        self.english += english
        self.german += german


@cache
def named(number: int) -> NamedNumber:
    """A number from 1 to 999,999 in words."""
    written = _Written()
    thousands, rest = divmod(number, 1000)
    if thousands:
        _below_thousand(written, thousands, one="ein")
        written.add(["thousand"], ["tausend"], [(0, 0)])
    _below_thousand(written, rest, one="eins")
    return NamedNumber(tuple(written.english), tuple(written.german), Gold.of(written.sure, written.possible))


def _below_thousand(written: _Written, number: int, one: str) -> None:
    """`one` is what German calls a one that stands alone here."""
    hundreds, rest = divmod(number, 100)
    if hundreds:
        unit = [*UNITS][hundreds - 1]
        written.add([unit, "hundred"], [UNITS[unit], "hundert"], [(0, 0), (1, 1)])
    _below_hundred(written, rest, one)


def _below_hundred(written: _Written, number: int, one: str) -> None:
    units, tens = [*UNITS], [*TENS]
    if 0 < number < 10:
        unit = units[number - 1]
        written.add([unit], [one if number == 1 else UNITS[unit]], [(0, 0)])
    elif 10 <= number < 13:
        english = [*ALONE][number - 10]
        written.add([english], [ALONE[english]], [(0, 0)])
    elif 13 <= number < 20:
        english = [*TEENS][number - 13]
        written.add([english], [TEENS[english], "zehn"], [(0, 0), (0, 1)])
    elif number:
        ten = tens[number // 10 - 2]
        if number % 10:
            unit = units[number % 10 - 1]
            crossed, of_und = [(0, 2), (1, 0)], [(0, 1), (1, 1)]
            written.add([ten, unit], [UNITS[unit], "und", TENS[ten]], crossed, of_und)
        else:
            written.add([ten], [TENS[ten]], [(0, 0)])


def split() -> tuple[list[int], list[int]]:
    """The numbers to learn from and those held out, drawn once and for all."""
    numbers = np.random.default_rng(0).permutation(np.arange(1, LAST + 1)).tolist()
    return numbers[NUM_HELD_OUT:], numbers[:NUM_HELD_OUT]
