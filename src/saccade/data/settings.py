"""Settings of corpora: which files, what is cleaned away, what is kept for validation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Interval, MinLen

from saccade.fields import Changeable, Checked, NotNegative, Positive


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusSettings(Checked):
    """One parallel corpus: two files of lines, or one file of pairs. Plain, gzip or zstd."""

    source: Changeable[Path | None] = None
    """File with one source sentence in each line."""
    target: Changeable[Path | None] = None
    """File whose line n translates line n of `source`."""
    file: Changeable[Path | None] = None
    """Instead of both: a TSV file, in each line a source sentence, a tab and its translation."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSettings(Checked):
    """The corpora and the two languages."""

    source_language: str
    """Language code of the source, such as `en`."""
    target_language: str
    """Language code of the target, such as `zh`."""
    train: Annotated[tuple[CorpusSettings, ...], MinLen(1)]
    """Corpora to learn from."""
    valid: CorpusSettings | None = None
    """Corpus for validation; when absent, `hold_out` pairs are taken from the training corpora."""
    hold_out: NotNegative = 1000
    """Number of pairs held out of training for validation when `valid` is absent."""
    max_tokens: Annotated[int, Interval(ge=1, le=100_000)] = 128
    """Pairs with a side of more tokens than this are left out of training, and counted."""
    cleaning: CleaningSettings = field(default_factory=CleaningSettings)
