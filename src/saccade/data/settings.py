"""Settings of corpora: which files, what is cleaned away, what is kept for validation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Interval, MinLen

from saccade.fields import Changeable, Checked, NotNegative, Positive
from saccade.text.languages import Direction


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusSettings(Checked):
    """One parallel corpus: two files of lines, or one file of pairs. Plain, gzip or zstd."""

    source: Changeable[Path | None] = None
    """File with one source sentence in each line."""
    target: Changeable[Path | None] = None
    """File whose line n translates line n of `source`."""
    file: Changeable[Path | None] = None
    """Instead of both: a TSV file, in each line a source sentence, a tab and its translation."""
    source_language: str | None = None
    """Language of its sources; that of `data` when absent."""
    target_language: str | None = None
    """Language of its targets; that of `data` when absent."""
    both_ways: bool = False
    """Every pair is also learned from target to source."""
    hold_out: NotNegative | None = None
    """Number of its pairs held out for validation; a share of `data.hold_out` when absent."""
    weight: Annotated[float, Interval(gt=0, le=1000)] = 1.0
    """How often each pair is seen in an epoch: 2 means twice, 0.5 in every other epoch on average, drawn anew each
    time."""

    def conflicts(self) -> Iterator[str]:
        given = list(self.files)
        if given not in (["source", "target"], ["file"]):
            yield f"a corpus needs source and target, or file alone, but has {' and '.join(given) or 'none of them'}"
        elif self.source is not None and self.source == self.target:
            yield f"source and target must be two files, but both are {self.source}"

    @property
    def files(self) -> dict[str, Path]:
        """The files by the name of their setting."""
        named = {"source": self.source, "target": self.target, "file": self.file}
        return {name: path for name, path in named.items() if path is not None}

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.files.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningSettings(Checked):
    """What is left out of the training corpus. A pair with an empty side always is."""

    max_characters: Positive = 2000
    """Pairs with a side longer than this are left out."""
    max_ratio: Annotated[float, Ge(1)] = 9.0
    """Pairs with one side this many times as long as the other, in characters, are skipped; sides of up to 20
    characters are not compared. Six is normal between English and Chinese."""
    deduplicate: bool = True
    """Of exact duplicates, source and target alike, only the first is kept."""
    drop_copies: bool = False
    """Pairs whose target merely repeats the source are left out; they are counted in either case."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A corpus read in one direction; one that is read both ways is two streams."""

    corpus: int
    """Its number among the corpora."""
    direction: Direction
    is_reversed: bool = False
    """Targets are translated into sources."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSettings(Checked):
    """The corpora and their languages. A model may learn many directions, each asked for by a tag of its target."""

    source_language: str | None = None
    """Language code of the sources, such as `en`, unless a corpus names its own."""
    target_language: str | None = None
    """Language code of the targets, such as `zh`, unless a corpus names its own."""
    train: Annotated[tuple[CorpusSettings, ...], MinLen(1)]
    """Corpora to learn from."""
    valid: tuple[CorpusSettings, ...] = ()
    """Corpora for validation; when absent, `hold_out` pairs are taken from the training corpora."""
    hold_out: NotNegative = 1000
    """Number of pairs held out for validation when `valid` is absent, the same number from each training corpus that
    has no `hold_out` of its own."""
    temperature: Annotated[float, Interval(ge=1, le=100)] = 1.0
    """Of many directions, how much more often the small ones are seen: 1 as often as they have pairs, 5 nearly all
    alike."""
    max_tokens: Annotated[int, Interval(ge=1, le=100_000)] = 128
    """Pairs with a side of more tokens than this are left out of training, and counted."""
    cleaning: CleaningSettings = field(default_factory=CleaningSettings)

    def conflicts(self) -> Iterator[str]:
        unnamed = [name for name, corpus in self.corpora.items() if None in self._languages(corpus)]
        if unnamed:
            yield (
                "source_language and target_language must be given, for all corpora or for each, but "
                f"{', '.join(unnamed)} has none"
            )
            return
        learned = self.directions
        for stream in self.valid_streams:
            if stream.direction not in learned:
                yield f"valid must be of a direction that is learned, but no corpus of train is {stream.direction}"

    @property
    def corpora(self) -> dict[str, CorpusSettings]:
        """All corpora, by the setting that names each."""
        train = {f"train[{number}]": corpus for number, corpus in enumerate(self.train)}
        valid = {f"valid[{number}]": corpus for number, corpus in enumerate(self.valid)}
        return train | ({"valid": self.valid[0]} if len(self.valid) == 1 else valid)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What is learned, in the order of the corpora; without tags."""
        return tuple(dict.fromkeys(stream.direction for stream in self.streams))

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What is learned from, corpus by corpus."""
        return tuple(self._streams(self.train))

    @property
    def valid_streams(self) -> tuple[Stream, ...]:
        """What is validated on: the corpora for it, or what is held out of those of training."""
        return tuple(self._streams(self.valid or self.train))

    def _streams(self, corpora: tuple[CorpusSettings, ...]) -> Iterator[Stream]:
        for number, corpus in enumerate(corpora):
            source, target = (language or "" for language in self._languages(corpus))
            yield Stream(number, Direction(source=source, target=target))
            if corpus.both_ways:
                yield Stream(number, Direction(source=target, target=source), is_reversed=True)

    def _languages(self, corpus: CorpusSettings) -> tuple[str | None, str | None]:
        return corpus.source_language or self.source_language, corpus.target_language or self.target_language
