"""Parallel text as examples, and what is cleaned out of it, counted by reason."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from saccade.data.settings import CleaningSettings, CorpusSettings
from saccade.text.formats import lines, tsv
from saccade.text.normalize import normalize

REASONS = {
    "empty": "a side is empty",
    "characters": "a side has too many characters",
    "ratio": "the sides differ too much in length",
    "copy": "the target repeats the source",
    "duplicate": "the same pair came before",
    "held_out": "held out for validation",
    "held_out_source": "the source is that of a held-out pair",
    "tokens": "a side has too many tokens",
}
"""Why a pair may be left out of training, in the order of the checks."""

_SHORT = 20  # characters; up to here a ratio of lengths says nothing


@dataclass(frozen=True, slots=True)
class Example:
    """A source text and its translation."""

    source: str
    target: str


def read(corpus: CorpusSettings, *, key: str = "") -> Iterator[Example]:
    """The examples as they stand in the files; `key` is the setting that names the corpus, for messages."""
    if corpus.file is not None:
        pairs = tsv.read_pairs(corpus.file, key=key)
    else:
        assert corpus.source is not None
        assert corpus.target is not None
        pairs = lines.read_pairs(corpus.source, corpus.target, key=key)
    return (Example(source, target) for source, target in pairs)


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
    copies_kept: int = 0
    """Pairs whose target repeats the source, which stayed in."""
    blank_valid: int = 0
    """Pairs of the validation corpus that were left out because a side is blank."""

    @property
    def kept(self) -> int:
        return self.read - sum(dropped.count for dropped in self.dropped.values())

    def drop(self, reason: str, example: Example, place: str) -> None:
        if reason in self.dropped:
            self.dropped[reason].count += 1
        else:
            self.dropped[reason] = Dropped(1, place, f"{_shorten(example.source)} → {_shorten(example.target)}")

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
        reasons = [
            f"{self.dropped[reason].count} because {words}"
            for reason, words in REASONS.items()
            if reason in self.dropped
        ]
        left_out = f"; left out were {', '.join(reasons)}" if reasons else ""
        return f"{self.read} pairs were read{left_out}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CleaningReport":
        dropped = {reason: Dropped(**fields) for reason, fields in values["dropped"].items()}
        return cls(**{**values, "dropped": dropped})


class Cleaner:
    """Cleans corpora one after another, duplicates across them included; `report` counts what it does."""

    def __init__(self, settings: CleaningSettings) -> None:
        self.report = CleaningReport()
        self._settings = settings
        self._seen: set[bytes] = set()

    def clean(self, examples: Iterable[Example], origin: str) -> Iterator[tuple[Example, str]]:
        """Normalised examples that pass, each with its place: `origin` and the line number."""
        for number, raw in enumerate(examples, start=1):
            example = Example(normalize(raw.source), normalize(raw.target))
            place = f"{origin}:{number}"
            self.report.read += 1
            if reason := self._reason(example):
                self.report.drop(reason, example, place)
            else:
                self.report.copies_kept += example.source == example.target
                yield example, place

    def _reason(self, example: Example) -> str | None:
        settings = self._settings
        shorter, longer = sorted((len(example.source), len(example.target)))
        if shorter == 0:
            return "empty"
        if longer > settings.max_characters:
            return "characters"
        if longer > _SHORT and longer > settings.max_ratio * shorter:
            return "ratio"
        if settings.drop_copies and example.source == example.target:
            return "copy"
        if settings.deduplicate and self._seen_before(example):
            return "duplicate"
        return None

    def _seen_before(self, example: Example) -> bool:
        # Eight bytes instead of the text: among ten million pairs, one wrong match in about 400,000 corpora.
        text = f"{example.source}\t{example.target}".encode()
        digest = hashlib.blake2b(text, digest_size=8).digest()
        seen = digest in self._seen
        self._seen.add(digest)
        return seen


def _shorten(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
