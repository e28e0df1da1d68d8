"""A text in as few segments as a model can read, and their translations as one text again; nothing is left out.

It is cut between sentences if it can be, else between clauses, else between words, else within a word.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.text.joining import has_spaces, would_merge
from saccade.text.languages import language_of
from saccade.text.normalize import normalize
from saccade.text.sentences import Part, clauses, sentences, words
from saccade.text.tokenizer import Tokenizer
from saccade.text.vocabulary import split_code

Split = Literal["auto", "sentences", "never"]

PLACES = ("between sentences", "between clauses", "between words", "within words")
_CLOSED = {"zh", "zho", "chi", "cmn", "yue", "wuu", "lzh", "ja", "jpn"}  # languages that put no blank between sentences
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")  # read as blanks, but none by themselves
_LAYOUT = re.compile(r"[\t\n\r\v\f\x85\u2028\u2029]")

Unit = tuple[Part, int]
"""A part and how many tokens it has."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text as the model reads it; one without ids is not translated, but left as it is."""

    part: Part
    ids: list[int]

    @property
    def untranslated(self) -> str:
        """What stands for a segment that is not translated: itself, normalised."""
        return normalize(self.part.text)


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The segments of one text, in their order."""

    segments: tuple[Segment, ...]
    num_tokens: int
    """Of the whole."""
    place: str = ""
    """Where it was cut because it was too long, one of PLACES."""

    def notes(self, longest: int) -> tuple[str, ...]:
        """That a text was cut because it was too long, or was translated whole although it is too long."""
        if self.place:
            return (
                f"has {self.num_tokens} tokens, but the model was trained on at most {longest}: "
                f"it was translated in {len(self.segments)} parts, cut {self.place}",
            )
        if len(self.segments) > 1 or not self.segments[0].ids or self.num_tokens <= longest:
            return ()
        return (note_too_long(self.num_tokens, longest),)


def note_too_long(num_tokens: int, longest: int) -> str:
    """What to know about the translation of a text that the model read whole."""
    return (
        f"has {num_tokens} tokens, but the model was trained on at most {longest}: "
        "check this translation, or split the text into sentences"
    )


def is_readable(text: str) -> bool:
    """Whether there is anything to translate: a letter or a digit of any script."""
    return any(character.isalnum() for character in text)


@dataclass(frozen=True, slots=True)
class Segmenter:
    """Cuts texts of a language for a model that was trained on at most `longest` tokens."""

    tokenizer: Tokenizer
    language: str
    longest: int
    tag: tuple[int, ...] = ()
    """What every segment begins with, and which does not count."""

    def segment(self, texts: Sequence[str], split: Split, uncut: Collection[int] = ()) -> list[Segmentation]:
        """`auto` cuts what is too long, `sentences` between all sentences, `never` nothing; those in `uncut` stay."""
        segmentations = self._segment(texts, split, uncut)
        return [self._with_tag(segmentation) for segmentation in segmentations] if self.tag else segmentations

    def _with_tag(self, segmentation: Segmentation) -> Segmentation:
        segments = (replace(each, ids=[*self.tag, *each.ids]) if each.ids else each for each in segmentation.segments)
        return replace(segmentation, segments=tuple(segments))

    def _segment(self, texts: Sequence[str], split: Split, uncut: Collection[int]) -> list[Segmentation]:
        segmentations = []
        for number, (text, ids) in enumerate(zip(texts, self.tokenizer.encode_many(texts), strict=True)):
            whole = Segmentation((Segment(Part(text, ""), ids),), len(ids))
            cut = whole if split == "never" else self._cut_text(text, ids, split)
            segmentations.append(whole if number in uncut and len(cut.segments) > 1 else cut)
        return segmentations

    def _cut_text(self, text: str, ids: list[int], split: Split) -> Segmentation:
        code, rest = ("", text) if self.tokenizer.vocabulary is None else split_code(text)
        if not is_readable(rest):
            return Segmentation((Segment(Part(rest, ""), []),), len(ids))
        parts, level = [Part(text, "")], 0
        if split == "sentences" or len(ids) > self.longest:
            room = max(1, self.longest - bool(code))  # the code stands before every part
            parts, level = self._cut(_CONTROL.sub(" ", rest).strip(), 0, room, packs=split == "auto")
        if len(parts) == 1:
            return Segmentation((Segment(Part(text, ""), ids),), len(ids))
        num_tokens, encoded = len(ids), self._encoded(code + part.text for part in parts)
        pairs = zip(parts, encoded, strict=True)
        segments = tuple(Segment(part, ids if is_readable(part.text) else []) for part, ids in pairs)
        return Segmentation(segments, num_tokens, PLACES[level] if level or split == "auto" else "")

    def _cut(self, text: str, level: int, room: int, *, packs: bool = True) -> tuple[list[Part], int]:
        """Parts of at most `room` tokens each, and the number of the finest place where it had to be cut."""
        parts: list[Part] = []
        short: list[Unit] = []
        finest = level
        # What is cut off a word begins with a blank, which is a token of its own.
        blank = int(level == len(PLACES) - 1)
        for part, count in self._units(text, level):
            if count <= room or level == len(PLACES) - 1:
                short.append((part, count))
                continue
            (*others, last), deepest = self._cut(part.text, level + 1, room)
            parts += self._packed(short, room if packs else 0, blank)
            parts += [*others, Part(last.text, last.space + part.space)]
            short, finest = [], max(finest, deepest)
        return parts + self._packed(short, room if packs else 0, blank), finest

    def _units(self, text: str, level: int) -> list[Unit]:
        """What may stand in a part of its own if the text is cut at these places."""
        match PLACES[level]:
            case "between sentences":
                parts = sentences(text, self.language)
            case "between clauses":
                parts = clauses(text)
            case "between words":
                parts = words(text)
            case _:
                return self._characters(text)
        return list(zip(parts, map(len, self._encoded(part.text for part in parts)), strict=True))

    def _characters(self, text: str) -> list[Unit]:
        """The characters of a word, with those that belong together in one: as the pieces have them, and marks."""
        text = self.tokenizer.normalize(text)
        begins, counts = [0], [0]
        reached = 0
        for start, end in self.tokenizer.encode_with_spans(text).spans:
            if start < end and reached and not _continues(text, reached):
                begins.append(reached)
                counts.append(0)
            counts[-1] += 1
            reached = end
        ends = [*begins[1:], len(text)]
        return [(Part(text[begin:end], ""), count) for begin, end, count in zip(begins, ends, counts, strict=True)]

    def _encoded(self, texts: Iterable[str]) -> list[list[int]]:
        """On this thread: starting others for every long text would take most of the time on a busy machine."""
        return self.tokenizer.encode_normalized([self.tokenizer.normalize(text) for text in texts], threads=1)

    def _packed(self, units: Sequence[Unit], room: int, extra: int) -> list[Part]:
        """As few parts as have room for all units and for some extra tokens each; without room, each unit is a part."""
        groups: list[list[Unit]] = []
        filled = 0
        for unit in units:
            filled += unit[1]
            if not groups or filled > room:
                groups.append([])
                filled = unit[1] + extra
            groups[-1].append(unit)
        # Where no blank is between two units, their tokens may be others when they stand together.
        while True:
            parts = [_merged(group) for group in groups]
            counts = list(map(len, self._encoded(part.text for part in parts)))
            if all(count <= room or len(group) == 1 for group, count in zip(groups, counts, strict=True)):
                return parts
            groups = [
                each
                for group, count in zip(groups, counts, strict=True)
                for each in ([group] if count <= room else (group[: len(group) // 2], group[len(group) // 2 :]))
                if each
            ]


def rejoin(parts: Iterable[Part], texts: Iterable[str], source_language: str, target_language: str) -> str:
    """The translations of all parts as one text, with line breaks, tabs and blanks as the target language has them."""
    is_closed = language_of(target_language) in _CLOSED
    joined, before, space = "", "", ""
    for part, text in zip(parts, texts, strict=True):
        if joined and text:
            if is_closed and not _LAYOUT.search(space):
                space = " " if space and would_merge(joined, text) else ""
            elif not space and _needs_blank(before, part.text, source_language):
                space = " "
            joined += space.replace("\u3000", " ")
        joined += text
        before, space = part.text, part.space
    return joined


def _needs_blank(before: str, after: str, source_language: str) -> bool:
    """Whether the source has no blank here because its writing has none, not because a word was cut."""
    neighbours = before[-1:] + after[:1]
    return not has_spaces(source_language) or any(
        unicodedata.east_asian_width(each) in "WF" and unicodedata.category(each)[0] in "LP" for each in neighbours
    )


def _continues(text: str, place: int) -> bool:
    """Whether the character here is part of the one before it: an accent, a joiner, the tone of an emoji's skin."""
    character = text[place]
    return (
        unicodedata.category(character)[0] == "M"
        or "\u200d" in text[max(0, place - 1) : place + 1]
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _merged(units: Sequence[Unit]) -> Part:
    *others, (last, _) = units
    return Part("".join(part.text + part.space for part, _ in others) + last.text, last.space)
