"""The parts that a corpus is prepared in, each cleaned and encoded into files that appear whole and are kept."""

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.corpus import CleaningReport, Example, digest, reason_to_drop
from saccade.data.settings import CleaningSettings
from saccade.data.store import Part, Ragged, id_type
from saccade.files import draft_file, write_atomically
from saccade.text.normalize import normalize
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

Mask = NDArray[np.bool_]

_SORTED_AT_ONCE = 1 << 21  # digests


# -- cleaning --


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Pairs as they stand in the files, and the file that the cleaned ones go to."""

    path: Path
    corpus: int
    origin: str
    first_line: int
    pairs: Sequence[Sequence[str]]
    settings: CleaningSettings
    languages: str = ""
    """Where there are several directions: those of the pairs, as the same text in other languages is another pair."""


def clean(chunk: RawChunk) -> int:
    """Normalise, leave out what no other pair is needed to judge, and write the rest; returns how many were read."""
    report = CleaningReport(read=len(chunk.pairs))
    rows, lines, pairs, sources, targets, copies = [], [], [], [], [], []
    for line, raw in enumerate(chunk.pairs, start=chunk.first_line):
        example = Example(*map(normalize, raw))
        if reason := reason_to_drop(example, chunk.settings):
            report.drop(reason, example, f"{chunk.origin}:{line}")
            continue
        rows.append(f"{example.source}\t{example.target}")  # normalised text has no tab and no newline
        lines.append(line)
        pairs.append(digest(chunk.languages + rows[-1]))
        sources.append(digest(chunk.languages + example.source))
        targets.append(digest(chunk.languages + example.target))
        copies.append(example.source == example.target)
    _write(
        chunk.path,
        {"corpus": chunk.corpus, "origin": chunk.origin, "report": asdict(report)},
        text=np.frombuffer("\n".join(rows).encode(), np.uint8),
        lines=np.array(lines, "<u4"),
        pairs=np.array(pairs, "<u8"),
        sources=np.array(sources, "<u8"),
        targets=np.array(targets, "<u8"),
        copies=np.array(copies, np.bool_),
    )
    return len(chunk.pairs)


def num_read(path: Path) -> int:
    """How many pairs a finished chunk was made from; 0 if there is none."""
    if not _is_sound(path):
        return 0
    with np.load(path) as file:
        return int(_described(file)["report"]["read"])


class Cleaned:
    """All cleaned chunks, opened: their rows are counted through from the first to the last."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.report = CleaningReport()
        ends, self.corpora = [0], []
        for path in paths:
            with np.load(path) as file:
                described = _described(file)
                self.report.add(CleaningReport.from_json(described["report"]))
                self.corpora.append(described["corpus"])
                ends.append(ends[-1] + len(file["lines"]))
        self._ends = np.array(ends)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def column(self, name: str) -> NDArray[Any]:
        """`pairs`, `sources` and `targets` (digests) or `copies` (whether a pair is one) of every row."""
        return np.concatenate([_column(path, name) for path in self.paths])

    def rows_of(self, corpus: int) -> Mask:
        """Which rows are of a corpus."""
        return np.repeat(np.array(self.corpora) == corpus, np.diff(self._ends))

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """What is given for every row, chunk by chunk."""
        return np.split(values, self._ends[1:-1])

    def take(self, rows: NDArray[np.int64]) -> Iterator[tuple[Example, str]]:
        """The examples of ascending rows, with their places."""
        chunks = np.searchsorted(self._ends, rows, side="right") - 1
        for chunk in np.unique(chunks).tolist():
            with np.load(self.paths[chunk]) as file:
                examples, lines, origin = _examples(file), file["lines"], _described(file)["origin"]
            for row in (rows[chunks == chunk] - self._ends[chunk]).tolist():
                yield Example(*examples[row].split("\t")), f"{origin}:{lines[row]}"

    def drop(self, reason: str, rows: NDArray[np.int64], report: CleaningReport) -> None:
        """Tell the report of ascending rows that are left out."""
        for example, place in self.take(rows[:1]):
            report.drop(reason, example, place, count=len(rows))


def first_of_equals(digests: NDArray[np.uint64]) -> Mask:
    """True at the first occurrence of each, sorted a share at a time, as sorting takes several times their memory."""
    first = np.zeros(len(digests), np.bool_)
    shares = 1 + len(digests) // _SORTED_AT_ONCE
    for share in range(shares):
        rows = np.flatnonzero(digests % np.uint64(shares) == share)
        first[rows[np.unique(digests[rows], return_index=True)[1]]] = True
    return first


# -- learning --


@dataclass(frozen=True, slots=True)
class TokenizerJob:
    """What a tokenizer is learned from, and the file it goes to."""

    path: Path
    chunks: list[Path]
    chosen: list[Mask]  # for each chunk: which sides of which rows
    settings: TokenizerSettings
    tags: tuple[str, ...]  # of languages


def learn(job: TokenizerJob) -> None:
    def texts() -> Iterator[str]:
        for path, chosen in zip(job.chunks, job.chosen, strict=True):
            with np.load(path) as file:
                sides = [side for row in _examples(file) for side in row.split("\t")]
            yield from compress(sides, chosen.ravel().tolist())

    write_atomically(job.path, Tokenizer.learn_normalized(texts(), job.settings, job.tags).model)


def sampled(sides: Mask, limit: int, seed: int) -> Mask:
    """At most so many of the sides of rows that are True, each as likely as any other."""
    places = np.flatnonzero(sides)
    if len(places) <= limit:
        return sides
    chosen = np.zeros(sides.size, np.bool_)
    chosen[np.random.default_rng(seed).choice(places, limit, replace=False, shuffle=False)] = True
    return chosen.reshape(sides.shape)


# -- encoding --


@dataclass(frozen=True, slots=True)
class CleanChunk:
    """A cleaned chunk, the rows of it that are kept, and the file that their ids go to."""

    path: Path
    cleaned: Path
    kept: Mask
    tokenizers: Path
    checksums: Sequence[str]  # of the tokenizers
    max_tokens: int
    threads: int


def encode(chunk: CleanChunk) -> Path:
    """Write ids of all rows that are short enough."""
    if _is_sound(chunk.path):
        return chunk.path
    tokenizers = _tokenizers(chunk.tokenizers, tuple(chunk.checksums))
    with np.load(chunk.cleaned) as file:
        described, lines = _described(file), file["lines"][chunk.kept]
        rows = [row.split("\t") for row in compress(_examples(file), chunk.kept.tolist())]
    dtype = id_type(max(len(tokenizers.source), len(tokenizers.target)))
    sources = tokenizers.source.encode_normalized([row[0] for row in rows], threads=chunk.threads)
    targets = tokenizers.target.encode_normalized([row[1] for row in rows], threads=chunk.threads)
    fits = [max(len(source), len(target)) <= chunk.max_tokens for source, target in zip(sources, targets, strict=True)]
    report = CleaningReport()
    for row, line, fit in zip(rows, lines, fits, strict=True):
        if not fit:
            report.drop("tokens", Example(*row), f"{described['origin']}:{line}")
    encoded = [Ragged.of(list(compress(ids, fits)), dtype) for ids in (sources, targets)]
    _write(
        chunk.path,
        {"corpus": described["corpus"], "report": asdict(report), "rows": len(rows)},
        source=encoded[0].ids,
        source_lengths=encoded[0].lengths,
        target=encoded[1].ids,
        target_lengths=encoded[1].lengths,
        lines=lines[np.array(fits, np.bool_)],
    )
    return chunk.path


def read_encoded(path: Path) -> tuple[Part, CleaningReport, int]:
    """What `encode` wrote, what it left out, and how many rows both were made from."""
    with np.load(path) as file:
        described = _described(file)
        source, target = (Ragged(file[side], file[f"{side}_lengths"]) for side in ("source", "target"))
        part = source, target, described["corpus"], file["lines"]
        return part, CleaningReport.from_json(described["report"]), described["rows"]


def num_encoded(path: Path) -> int:
    """How many rows a finished chunk was made from; 0 if there is none."""
    return read_encoded(path)[2] if _is_sound(path) else 0


@cache
def _tokenizers(directory: Path, checksums: tuple[str, ...]) -> Tokenizers:
    tokenizers = Tokenizers.load(directory)
    assert tokenizers.checksums == checksums
    return tokenizers


# -- files --


def _write(path: Path, description: dict[str, Any], **arrays: NDArray[Any]) -> None:
    described = np.frombuffer(json.dumps(description).encode(), np.uint8)
    with draft_file(path, synced=False) as draft, draft.open("wb") as file:
        np.savez(file, description=described, **arrays)  # type: ignore[arg-type]


def _is_sound(path: Path) -> bool:
    """Whether a file is there, as it was written: a power cut may leave one that is damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            return file.testzip() is None
    except (OSError, EOFError, zipfile.BadZipFile):
        return False


def _column(path: Path, name: str) -> NDArray[Any]:
    with np.load(path) as file:
        values: NDArray[Any] = file[name]
        return values


def _described(file: Any) -> Any:
    return json.loads(file["description"].tobytes())


def _examples(file: Any) -> list[str]:
    text = file["text"].tobytes().decode()
    return text.split("\n") if text else []
