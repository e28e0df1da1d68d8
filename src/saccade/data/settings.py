"""Settings of corpora: which files, what is cleaned away, what is kept for validation."""

import math
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusSettings:
    """One parallel corpus: two files of lines, or one file of pairs. Plain, gzip or zstd."""

    source: Path | None = None
    """File with one source sentence in each line."""
    target: Path | None = None
    """File whose line n translates line n of `source`."""
    file: Path | None = None
    """Instead of both: a TSV file, in each line a source sentence, a tab and its translation."""

    weight: float = 1.0
    """How often each pair is seen in an epoch: 2 means twice, 0.5 in every other epoch on average, drawn anew each
    time."""

    def __post_init__(self) -> None:
        if not 0 < self.weight < math.inf:
            raise ValueError(f"weight must be above 0, not {self.weight}")
        given = list(self.files)
        if given not in (["source", "target"], ["file"]):
            found = " and ".join(given) or "none of them"
            raise ValueError(f"a corpus needs source and target, or file alone, but has {found}")

    @property
    def files(self) -> dict[str, Path]:
        """The files by the name of their setting."""
        named = {"source": self.source, "target": self.target, "file": self.file}
        return {name: path for name, path in named.items() if path is not None}

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.files.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class CleaningSettings:
    """What is left out of the training corpus. A pair with an empty side always is."""

    max_characters: int = 2000
    """Pairs with a side longer than this are left out."""
    max_ratio: float = 9.0
    """Pairs with one side so many times as long as the other, in characters, are left out; sides of up to 20
    characters are not compared. Six is normal between English and Chinese."""
    deduplicate: bool = True
    """Of exact duplicates, source and target alike, only the first is kept."""
    drop_copies: bool = False
    """Pairs whose target merely repeats the source are left out; they are counted in either case."""

    def __post_init__(self) -> None:
        if self.max_characters < 1:
            raise ValueError(f"max_characters must be at least 1, not {self.max_characters}")
        if not self.max_ratio >= 1:
            raise ValueError(f"max_ratio must be at least 1, not {self.max_ratio}")


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSettings:
    """The corpora and the two languages."""

    source_language: str
    """Language code of the source, such as `en`."""
    target_language: str
    """Language code of the target, such as `zh`."""
    train: tuple[CorpusSettings, ...]
    """Corpora to learn from."""
    valid: CorpusSettings | None = None
    """Corpus for validation; when absent, `hold_out` pairs are taken from the training corpora."""
    hold_out: int = 1000
    """Number of pairs held out of training for validation when `valid` is absent."""
    max_tokens: int = 128
    """Pairs with a side of more tokens than this are left out of training, and counted."""
    cleaning: CleaningSettings = field(default_factory=CleaningSettings)

    def __post_init__(self) -> None:
        if not self.train:
            raise ValueError("train must name at least one corpus")
        if self.hold_out < 0:
            raise ValueError(f"hold_out must not be negative, not {self.hold_out}")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
