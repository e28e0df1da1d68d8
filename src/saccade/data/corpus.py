"""Parallel text as examples, and what is cleaned out of it, counted by reason."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from saccade.data.settings import CleaningSettings, CorpusSettings
from saccade.text.formats import lines, tsv

Split = Literal["train", "valid", "test"]
REASONS = {
    "empty": "a side is empty",
    "characters": "a side has too many characters",
    "ratio": "the sides differ too much in length",
    "copy": "the target repeats the source",
    "script": "a side has no letter of its language",
    "duplicate": "the same pair came before",
    "held_out": "held out for validation",
    "held_out_source": "the source is that of a held-out pair",
    "tokens": "a side has too many tokens",
    "score": "the model finds the translation unlikely",
}
"""Why a pair may be left out of training, in the order of the checks."""

_SHORT = 20  # characters; up to here a ratio of lengths says nothing


@dataclass(frozen=True, slots=True)
class Example:
    """A source text and its translation."""

    source: str
    target: str


def read(corpus: CorpusSettings, *, key: str = "") -> Iterator[tuple[str, str]]:
    """The pairs as they stand in the files; `key` is the setting that names the corpus, for messages."""
    if corpus.file is not None:
        return tsv.read_pairs(corpus.file, key=key)
    assert corpus.source is not None
    assert corpus.target is not None
    return lines.read_pairs(corpus.source, corpus.target, key=key)


@dataclass(slots=True)
class Dropped:
    """How many pairs one reason left out, and the first of them."""

    count: int
    place: str
    text: str


@dataclass(slots=True)
class CleaningReport:
    """What happened to every pair of the training corpora that was read."""

    read: int = 0
    dropped: dict[str, Dropped] = field(default_factory=dict)
    copies_kept: int = 0  # pairs whose target repeats the source, which stayed in
    blank_valid: int = 0  # pairs of the validation corpus that were skipped because a side is blank

    @property
    def kept(self) -> int:
        return self.read - sum(dropped.count for dropped in self.dropped.values())

    def drop(self, reason: str, first: Example, place: str, *, count: int = 1) -> None:
        """Count pairs that are left out, of which this is the first."""
        self._drop(reason, Dropped(count, place, f"{_shorten(first.source)} → {_shorten(first.target)}"))

    def add(self, later: "CleaningReport") -> None:
        """Add what happened to pairs that come after these."""
        self.read += later.read
        self.copies_kept += later.copies_kept
        for reason, dropped in later.dropped.items():
            self._drop(reason, dropped)

    def _drop(self, reason: str, dropped: Dropped) -> None:
        if reason in self.dropped:
            self.dropped[reason].count += dropped.count
        elif dropped.count:
            self.dropped[reason] = dropped

    def table(self) -> list[tuple[str, int, str]]:
        """Rows of what, how many, and the first example of it."""
        rows = [("read", self.read, "")]
        for reason, words in REASONS.items():
            if dropped := self.dropped.get(reason):
                rows.append((words, dropped.count, f"{dropped.place}: {dropped.text}"))
        rows.append(("kept", self.kept, ""))
        if self.copies_kept:
            rows.append(("kept although the target repeats the source", self.copies_kept, ""))
        if self.blank_valid:
            rows.append(("validation pairs left out because a side is empty", self.blank_valid, ""))
        return rows

    def in_words(self) -> str:
        """One sentence for messages."""
        given = [reason for reason in REASONS if reason in self.dropped]
        counts = [f"{self.dropped[reason].count} because {REASONS[reason]}" for reason in given]
        left_out = f"; left out were {', '.join(counts)}" if counts else ""
        return f"{self.read} pairs were read{left_out}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CleaningReport":
        dropped = {reason: Dropped(**fields) for reason, fields in values["dropped"].items()}
        return cls(**{**values, "dropped": dropped})


def reason_to_drop(example: Example, settings: CleaningSettings) -> str | None:
    """Why a normalised pair is left out, whatever came before it; duplicates are found later."""
    shorter, longer = sorted((len(example.source), len(example.target)))
    if shorter == 0:
        return "empty"
    if longer > settings.max_characters:
        return "characters"
    if longer > _SHORT and longer > settings.max_ratio * shorter:
        return "ratio"
    if settings.drop_copies and example.source == example.target:
        return "copy"
    return None


def digest(text: str) -> int:
    """Eight bytes instead of a text: among ten million, one wrong match in about 400,000 corpora."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def split_of(text: str) -> Split:
    """The split that a text belongs to, whatever stands beside it: 90 % train, 5 % valid, 5 % test."""
    fate = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % 20
    return "test" if fate == 0 else "valid" if fate == 1 else "train"


def _shorten(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
