"""What a translation is to say, in words: as its user puts it, and as it is found again in a text."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from saccade.errors import DataError
from saccade.text.normalize import normalize

Span = tuple[int, int]


class Term(NamedTuple):
    """A phrase of a glossary, made ready once for all texts that it is looked for in."""

    given: str
    phrase: str
    """As texts are read."""
    in_any_case: bool
    """Whether it is found in capitals, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """What the translation of one text, or of all texts, is held to. What cannot be had is told in its `notes`."""

    prefix: str = ""
    """How the translation begins; the model goes on from there. Blanks at its end are not kept."""
    banned: Sequence[str] = ()
    """Words and phrases that it does not have."""
    required: Sequence[str] = ()
    """Words and phrases that it has, in any order; their endings may be other ones."""
    glossary: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Phrases of the source with their translations, each required where its source occurs. One in small letters is
    also found in capitals; of several that overlap, the longest counts."""
    _terms: tuple[Term, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("banned", "required"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise DataError(f"{name} must be a list of phrases, but it is one text. Write [{given!r}].")
            if not all(normalize(phrase) for phrase in given):
                raise DataError(f"{name} must be phrases with at least one character each, but one of them has none.")
        if not isinstance(self.glossary, Mapping) or not all(
            isinstance(phrase, str) for pair in self.glossary.items() for phrase in pair
        ):
            raise DataError(
                "A glossary must be a mapping from strings to strings, but this one is not: "
                f'{self.glossary!r:.60}. Write, for example, {{"dog": "Hund"}}.'
            )
        for source, target in self.glossary.items():
            if not (normalize(source) and normalize(target)):
                raise DataError(
                    f"A glossary must have a phrase on both sides, but {source!r} → {target!r} has none on one of them."
                )
        object.__setattr__(self, "_terms", terms(self.glossary))

    def __bool__(self) -> bool:
        return bool(self.prefix or self.banned or self.required or self.glossary)

    def demands(self, source: str, *, spaced: bool) -> tuple[str, ...]:
        """The phrases that a translation of this source must have; `spaced`: there are blanks between its words."""
        asked = [normalize(phrase) for phrase in self.required]
        asked += [normalize(self.glossary[term]) for term in matching(self._terms, source, spaced=spaced)]
        return tuple(dict.fromkeys(asked))


def terms(glossary: Iterable[str]) -> tuple[Term, ...]:
    """The phrases of a glossary, the longest first."""
    phrases = {given: normalize(given) for given in glossary}
    made = (Term(given, phrase, phrase == _lower(phrase)) for given, phrase in phrases.items())
    return tuple(sorted(made, key=lambda term: len(term.phrase), reverse=True))


def matching(among: Sequence[Term], source: str, *, spaced: bool) -> list[str]:
    """The terms that occur in a source, as they were given, in their order there, each once; the longest come first."""
    if not among:
        return []
    source = normalize(source)
    small = _lower(source)
    found: list[tuple[Span, str]] = []
    for term in among:
        for start, end in occurrences(term.phrase, small if term.in_any_case else source, spaced=spaced):
            if all(end <= first or last <= start for (first, last), _ in found):
                found.append(((start, end), term.given))
    return list(dict.fromkeys(term for _, term in sorted(found)))


def occurrences(phrase: str, text: str, *, spaced: bool) -> Iterator[Span]:
    """Where a phrase stands in a text: as whole words in a language with blanks between them, or else anywhere."""
    at = text.find(phrase)
    while at != -1:
        end = at + len(phrase)
        if not spaced or not (_joins(text, at) or _joins(text, end)):
            yield at, end
        at = text.find(phrase, at + 1)


def _joins(text: str, at: int) -> bool:
    """Whether a word goes on from the character before this place to the one after it."""
    return 0 < at < len(text) and _is_letter(text[at - 1]) and _is_letter(text[at])


def _is_letter(character: str) -> bool:
    """Letters, digits and marks, such as the vowels of Devanagari, which belong to what they follow."""
    return unicodedata.category(character)[0] in "LMN" or character == "_"


def _lower(text: str) -> str:
    """In small letters, with every character in its place."""
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)
