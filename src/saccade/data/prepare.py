"""Text files to an encoded corpus on disk: clean, hold out, learn tokenizers, encode.

A prepared directory appears whole or not at all:
  prepared.json                       version, fingerprint of the inputs, settings, cleaning report
  tokenizer.spm                       or source.spm and target.spm
  train/                              the token store
  valid.source.txt, valid.target.txt  raw text, as scores are computed on raw text
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from saccade import settings
from saccade.data.corpus import Cleaner, CleaningReport, Example, read
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.data.store import StoreWriter, TokenStore
from saccade.errors import DataError, ModelError, OutputExists
from saccade.text.formats.lines import read_pairs
from saccade.text.formats.opening import open_bytes, open_text
from saccade.text.normalize import normalize
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings

VERSION = 1
_META = "prepared.json"
_CHUNK = 10_000  # pairs that are encoded and reported at a time

Progress = Callable[[str, int, int | None], None]
"""Called with a stage (`cleaning`, `learning`, `encoding`), the pairs done, and their number if known."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared corpus, opened."""

    directory: Path
    tokenizers: Tokenizers
    train: TokenStore
    valid_examples: list[Example]
    report: CleaningReport

    @classmethod
    def open(cls, directory: Path) -> "Prepared":
        meta = _read_meta(directory)
        tokenizers = Tokenizers.load(directory)
        train = TokenStore(directory / "train")
        if train.meta.tokenizers != tokenizers.checksums:
            raise DataError(
                f"{directory} must hold the tokenizers that its corpus was encoded with, but they were "
                "exchanged: every id would mean another piece. Run `saccade prepare` again."
            )
        valid = read_pairs(directory / "valid.source.txt", directory / "valid.target.txt")
        examples = [Example(source, target) for source, target in valid]
        return cls(directory, tokenizers, train, examples, CleaningReport.from_json(meta["report"]))

    @property
    def digest(self) -> str:
        """Tells this encoded corpus from any other, so that a run never goes on with another one."""
        meta = json.dumps(asdict(self.train.meta), sort_keys=True)
        return hashlib.sha256(meta.encode()).hexdigest()


def prepare(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    directory: Path,
    *,
    seed: int,
    reuse: Tokenizers | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Prepared:
    """Prepare into `directory`, or open what is there already if settings and files are still the same.

    With tokenizers to `reuse`, no new ones are learned: a model that is trained further keeps its own.
    """
    fingerprint = _fingerprint(data, tokenizer, seed, reuse)
    if (directory / _META).exists():
        if _is_current(directory, fingerprint):
            with suppress(DataError, ModelError):  # a damaged one is made anew
                return Prepared.open(directory)
    elif directory.is_file() or (directory.is_dir() and any(directory.iterdir())):
        raise OutputExists(
            f"{directory} must be new, empty or a prepared corpus, which is then replaced, but it is none of "
            "these. Choose another path or remove it."
        )
    with _built_aside(directory) as building:
        report = _build(data, tokenizer, building, seed, reuse, progress)
        meta = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "settings": {"data": settings.table(data), "tokenizer": settings.table(tokenizer), "seed": seed},
            "report": report.to_json(),
        }
        text = json.dumps(meta, indent=1, default=str)
        (building / _META).write_text(text, encoding="utf-8")
    return Prepared.open(directory)


def _build(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    building: Path,
    seed: int,
    reuse: Tokenizers | None,
    progress: Progress,
) -> CleaningReport:
    cleaned = building / "clean.tsv"
    report = _clean(data, cleaned, progress)
    valid = _read_valid(data.valid, report) if data.valid else _hold_out(data, cleaned, report, seed)
    _write_lines(building / "valid.source.txt", (example.source for example in valid))
    _write_lines(building / "valid.target.txt", (example.target for example in valid))
    progress("learning", 0, None)
    tokenizers = reuse or _learn(cleaned, tokenizer, seed)
    tokenizers.save(building)
    _encode(cleaned, tokenizers, data.max_tokens, report, building / "train", progress)
    cleaned.unlink()
    return report


def _clean(data: DataSettings, cleaned: Path, progress: Progress) -> CleaningReport:
    """Write what passes as lines of source, target and place: normalised text has no tab and no newline."""
    cleaner = Cleaner(data.cleaning)

    def rows() -> Iterator[str]:
        for number, corpus in enumerate(data.train):
            examples = read(corpus, key=f"data.train[{number}]")
            for chunk in _chunks(cleaner.clean(examples, normalize(corpus.paths[0].name)), _CHUNK):
                yield from (f"{example.source}\t{example.target}\t{place}" for example, place in chunk)
                progress("cleaning", cleaner.report.read, None)

    _write_lines(cleaned, rows())
    progress("cleaning", cleaner.report.read, cleaner.report.read)
    _refuse_empty(data, cleaner.report)
    return cleaner.report


def _hold_out(data: DataSettings, cleaned: Path, report: CleaningReport, seed: int) -> list[Example]:
    """Take pairs out of the cleaned file, and with them every other pair of the same source."""
    if 2 * data.hold_out > report.kept:
        raise DataError(
            f"data.hold_out must leave at least half of the corpus to learn from, but it is {data.hold_out}, "
            f"and {report.kept} pairs are left after cleaning. Lower data.hold_out, give more data, or name "
            "a validation corpus as data.valid."
        )
    rng = np.random.default_rng(seed)
    chosen = set(rng.choice(report.kept, data.hold_out, replace=False).tolist())
    held_out = [example for row, (example, _) in enumerate(_rows(cleaned)) if row in chosen]
    sources = {example.source for example in held_out}

    def rows() -> Iterator[str]:
        for row, (example, place) in enumerate(_rows(cleaned)):
            if row in chosen:
                report.drop("held_out", example, place)
            elif example.source in sources:
                report.drop("held_out_source", example, place)
            else:
                yield f"{example.source}\t{example.target}\t{place}"

    remaining = cleaned.with_name("remaining.tsv")
    _write_lines(remaining, rows())
    remaining.replace(cleaned)
    _refuse_empty(data, report)
    return held_out


def _read_valid(corpus: CorpusSettings, report: CleaningReport) -> list[Example]:
    examples = list(read(corpus, key="data.valid"))
    valid = [example for example in examples if normalize(example.source) and normalize(example.target)]
    report.blank_valid = len(examples) - len(valid)
    if not valid:
        raise DataError(
            f"The validation corpus {corpus.paths[0]} must hold at least one pair with text on both sides, "
            f"but none of its {len(examples)} has. Check data.valid, or leave it out: then pairs are held "
            "out of data.train."
        )
    return valid


def _learn(cleaned: Path, tokenizer: TokenizerSettings, seed: int) -> Tokenizers:
    sources = (example.source for example, _ in _rows(cleaned))
    targets = (example.target for example, _ in _rows(cleaned))
    if tokenizer.shared:
        both = (text for example, _ in _rows(cleaned) for text in (example.source, example.target))
        learned = Tokenizer.learn(both, tokenizer, seed)
        return Tokenizers(learned, learned)
    return Tokenizers(Tokenizer.learn(sources, tokenizer, seed), Tokenizer.learn(targets, tokenizer, seed))


def _encode(
    cleaned: Path,
    tokenizers: Tokenizers,
    max_tokens: int,
    report: CleaningReport,
    directory: Path,
    progress: Progress,
) -> None:
    total = report.kept
    vocabulary = max(len(tokenizers.source), len(tokenizers.target))
    done = 0
    with StoreWriter(directory, vocabulary=vocabulary, tokenizers=tokenizers.checksums) as writer:
        for chunk in _chunks(_rows(cleaned), _CHUNK):
            sources = tokenizers.source.encode_many(example.source for example, _ in chunk)
            targets = tokenizers.target.encode_many(example.target for example, _ in chunk)
            fits = [max(len(s), len(t)) <= max_tokens for s, t in zip(sources, targets, strict=True)]
            writer.write(list(compress(sources, fits)), list(compress(targets, fits)))
            for (example, place), fit in zip(chunk, fits, strict=True):
                if not fit:
                    report.drop("tokens", example, place)
            done += len(chunk)
            progress("encoding", done, total)
    if not report.kept:
        raise DataError(
            f"data.max_tokens must leave something to learn from, but it is {max_tokens} and no pair is so "
            f"short: {report.in_words()}. Raise it."
        )


def _refuse_empty(data: DataSettings, report: CleaningReport) -> None:
    if not report.kept:
        names = ", ".join(str(path) for corpus in data.train for path in corpus.paths)
        raise DataError(
            f"The training corpus must leave at least one pair to learn from, but {names} leave none: "
            f"{report.in_words()}. Check that these are the right files and the settings of [data.cleaning]."
        )


def _rows(cleaned: Path) -> Iterator[tuple[Example, str]]:
    for line in open_text(cleaned):
        source, target, place = line.split("\t")
        yield Example(source, target), place


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _fingerprint(data: DataSettings, tokenizer: TokenizerSettings, seed: int, reuse: Tokenizers | None) -> str:
    """Changes when a setting does, or a file's size or time of change."""
    corpora = {f"data.train[{number}]": corpus for number, corpus in enumerate(data.train)}
    if data.valid is not None:
        corpora["data.valid"] = data.valid
    files = []
    for key, corpus in corpora.items():
        for name, path in corpus.files.items():
            with open_bytes(path, key=f"{key}.{name}") as file:
                status = os.fstat(file.fileno())
            files.append((str(path), status.st_size, status.st_mtime_ns))
    reused = reuse and reuse.checksums
    inputs = [VERSION, settings.table(data), settings.table(tokenizer), seed, reused, files]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()


def _read_meta(directory: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads((directory / _META).read_text(encoding="utf-8"))
        version = meta["version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{directory} must be a prepared corpus, but its {_META} is missing or damaged. "
            "Make one with `saccade prepare`."
        ) from None
    if version != VERSION:
        raise DataError(
            f"{directory} must be a prepared corpus of version {VERSION}, but it is of version {version}. "
            "Run `saccade prepare` again with this version of saccade."
        )
    return meta


def _is_current(directory: Path, fingerprint: str) -> bool:
    try:
        return bool(_read_meta(directory)["fingerprint"] == fingerprint)
    except DataError:
        return False


@contextmanager
def _built_aside(directory: Path) -> Iterator[Path]:
    """A temporary neighbour of `directory` that takes its place at a normal end and vanishes otherwise."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    building, old = (directory.with_name(f".{directory.name}.{os.getpid()}.{state}") for state in ("partial", "old"))
    for leftover in (building, old):  # of a killed process that had the same number
        shutil.rmtree(leftover, ignore_errors=True)
    building.mkdir()
    try:
        yield building
        if directory.exists():
            directory.rename(old)
        building.rename(directory)
    finally:
        shutil.rmtree(building, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
