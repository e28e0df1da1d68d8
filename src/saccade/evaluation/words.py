"""Words of a text in any language, by one rule: what buckets, repetition and marked differences are counted in."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
# Han, kana, bopomofo and their extensions: written without spaces, so each character counts as a word.
_UNSPACED = "\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
_UNSPACED += "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
# Punctuation of ASCII, Latin, Greek, Hebrew, Arabic, Devanagari, and the typographic, CJK and full-width blocks.
_MARKS = r"!-/:-@\[-`{-~¡-©«-±´¶-¸»¿×÷\u037e\u0387\u05be\u05c0\u05c3\u060c\u061b\u061f\u066a-\u066c\u06d4\u0964\u0965"
_MARKS += "\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2200-\u22ff\u3001-\u3004\u3008-\u3020\u3030-\u303f"
_MARKS += "\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_LETTER = rf"[^\s{_MARKS}{_UNSPACED}]"

_TOKEN = re.compile(rf"(?P<word>[{_UNSPACED}]|{_LETTER}+(?:(?:['’\-‐]|(?<=\d)[.,:](?=\d)){_LETTER}+)*)|[{_MARKS}]")
_BETWEEN = re.compile(rf"({_TOKEN.pattern.replace('?P<word>', '?:')}|\s+)")


def words(text: str) -> list[str]:
    """The words as they stand: don't, well-known, 3.5 and 1,000 are one each, and so is every Chinese character."""
    return [found["word"] for found in _TOKEN.finditer(text) if found["word"]]


def pieces(text: str) -> list[str]:
    """The words, the punctuation marks and the spaces between; joined, they are the text again."""
    return [piece for piece in _BETWEEN.split(text) if piece]


def ngrams(items: Sequence[Item], size: int) -> Counter[tuple[Item, ...]]:
    """How often each n-gram of this size stands in a sequence."""
    return Counter(zip(*(items[begin:] for begin in range(size)), strict=False))
