"""Where sentences, clauses and words end, by rules; joining all parts gives the text back.

Where a rule is in doubt, it does not cut: half a sentence is translated worse than two at once.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import NamedTuple

from saccade.text.languages import language_of


class Part(NamedTuple):
    """A stretch of text that neither begins nor ends with white space, and the white space after it."""

    text: str
    space: str


# Ends that need white space after them, as in Latin, Greek, Cyrillic, Arabic and Indic writing …
_NARROW = ".!?…‼⁇⁈⁉؟۔।॥։።။។"
# … and those of Chinese and Japanese, which do not.
_WIDE = "。！？；｡"
_CLOSING = "\"'”’»›)\\]}）】］｝」』》〉〗＂＇"
_OPENING = "\"'“‘„‚«‹(\\[{¿¡—–\\-*•"
_CLOSED = f"[{_CLOSING}]*(?:[ \u00a0\u202f]»)?"  # French keeps its quotes at a distance
_END = re.compile(f"[{_NARROW}{_WIDE}]+{_CLOSED}")
_GREEK_END = re.compile(f"[{_NARROW}{_WIDE};\u037e]+{_CLOSED}")
# What must come after a mark is asked of the whole run of marks, not by the pattern: a hundred thousand commas would
# be read a hundred thousand times.
_CLAUSE = re.compile(f"[,;:،؛·\u037e–—，、；：]+[{_CLOSING}]*")
_WIDE_CLAUSE = re.compile("[，、；：]")
_SPACE = re.compile(r"\s*")
_SPACES = re.compile(r"\s+")
_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_OPENED = re.compile(f"[{_OPENING}]*")
_LOOK_BACK = 24  # characters; no abbreviation is longer

_RULES = tomllib.loads((files("saccade") / "text" / "abbreviations.toml").read_text(encoding="utf-8"))
_ALWAYS = {language: frozenset(listed.split()) for language, listed in _RULES["always"].items()}
_COUNTING, _ORDINAL = (frozenset(_RULES[name].split()) for name in ("counting", "ordinal"))
_NUMBER = re.compile(r"\d{1,2}")
_DOTTED = re.compile(r"\w{1,3}(?:\.\w{1,3})+")  # e.g, z.B, U.S


def sentences(text: str, language: str = "") -> list[Part]:
    """The sentences of a text in a language such as "en" or "zh-CN"; a line break always ends one."""
    language = language_of(language)
    return _cut(text, _sentence_ends(text, language))


def clauses(text: str) -> list[Part]:
    """What stands between commas, semicolons, colons and dashes."""
    marks = ((match[0], match.end()) for match in _CLAUSE.finditer(text))
    return _cut(text, (end for mark, end in marks if text[end : end + 1].isspace() or _WIDE_CLAUSE.search(mark)))


def words(text: str) -> list[Part]:
    """What stands between white space."""
    return _cut(text, (match.start() for match in _SPACES.finditer(text)))


def _cut(text: str, ends: Iterable[int]) -> list[Part]:
    """The text after each of the ends, which lie behind visible characters, in a part of its own."""
    parts, begin = [], 0
    for end in (0, *ends, len(text)):
        if end < begin:
            continue
        visible = text[begin:end].rstrip()
        after = _visible(text, begin + len(visible))
        if after > begin:
            parts.append(Part(visible, text[begin + len(visible) : after]))
        begin = after
    return parts


def _sentence_ends(text: str, language: str) -> Iterator[int]:
    pattern = _GREEK_END if language == "el" else _END
    for begin, end in _lines(text):
        for match in pattern.finditer(text, begin, end):
            if match.end() == end or _ends(text, begin, match, language):
                yield match.end()
                begin = _visible(text, match.end())
        if begin < end:
            yield end


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, without white space."""
    begin = _visible(text, 0)
    for space in _SPACES.finditer(text, begin):
        if _BREAK.search(space[0]):
            yield begin, space.start()
            begin = space.end()
    if begin < len(text):
        yield begin, len(text)


def _visible(text: str, begin: int) -> int:
    """Where the white space ends that begins here, if any."""
    space = _SPACE.match(text, begin)
    assert space is not None
    return space.end()


def _ends(text: str, begin: int, match: re.Match[str], language: str) -> bool:
    """Whether these marks end the sentence that begins there."""
    if any(mark in _WIDE for mark in match[0]):
        return True
    begins = _visible(text, match.end())
    if begins == match.end():
        return False
    opened = _OPENED.match(text, begins)
    assert opened is not None
    following = text[opened.end() : opened.end() + 1]
    if following.islower():
        return False
    return match[0][0] != "." or match[0].startswith("..") or not _abbreviates(text, begin, match, following, language)


def _abbreviates(text: str, begin: int, match: re.Match[str], following: str, language: str) -> bool:
    """Whether the full stop belongs to the word before it."""
    before = text[max(begin, match.start() - _LOOK_BACK) : match.start()]
    word = re.split(r"[\s(\[{\"'“„«‹‘’/]", before)[-1]
    if len(word) == 1 and word.isupper():  # an initial
        return True
    if _NUMBER.fullmatch(word):  # the number of an item, or an ordinal
        return match.start() - len(word) == begin or language in _ORDINAL
    small = word.lower()
    if small in _COUNTING and following.isnumeric():
        return True
    return small in _ALWAYS.get(language, _ALWAYS["other"]) or _DOTTED.fullmatch(word) is not None
