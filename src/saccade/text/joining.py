"""Words that someone cut apart, as one text again, with the characters of each: gold alignments count words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.text.languages import language_of
from saccade.text.normalize import normalize

UNSPACED = {"zh", "zho", "chi", "cmn", "yue", "ja", "jpn", "th", "tha", "lo", "lao", "km", "khm", "my", "mya"}
_LATIN = re.compile(r"[0-9a-zA-Z\u00c0-\u024f]")


@dataclass(frozen=True, slots=True)
class Joined:
    """A text that `normalize` leaves as it is, and where its words are; a word that normalises away is empty."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.spans)


def has_spaces(language: str) -> bool:
    """Whether people write blanks between words of this language, such as "de" or "zh-CN"."""
    return language_of(language) not in UNSPACED


def join(words: Sequence[str], *, spaced: bool = True) -> Joined:
    """Join words with blanks; without, only where two Latin words or numbers, or characters, would run together."""
    text, spans = "", []
    for word in map(normalize, words):
        glued = text + word
        if text and word and (spaced or would_merge(text, word) or normalize(glued) != glued):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return Joined(text, tuple(spans))


def would_merge(left: str, right: str) -> bool:
    """Whether two words, one right after the other, would look like one."""
    return bool(_LATIN.match(left[-1]) and _LATIN.match(right[0]))
