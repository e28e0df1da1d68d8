"""Text files to an encoded corpus on disk: clean, hold out, learn tokenizers, encode.

A prepared directory appears whole or not at all; until then, what is done lies in a hidden neighbour, `.NAME.building`,
from which the same command continues after any interruption. The directory holds:
  prepared.json                       version, fingerprint of the inputs, settings, cleaning report
  tokenizer.spm                       or source.spm and target.spm
  train/                              the token store
  valid.source.txt, valid.target.txt  raw text, as scores are computed on raw text; direction by direction
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np

from saccade import files, settings
from saccade.data import chunks
from saccade.data.corpus import CleaningReport, Example, read
from saccade.data.settings import DataSettings
from saccade.data.store import Part, TokenStore, write_store
from saccade.data.validation import Valid, by_direction, hold_out, read_valid
from saccade.data.workers import map_in_processes, num_workers
from saccade.errors import DataError, ModelError, OutputExists
from saccade.text.formats.lines import read_pairs
from saccade.text.formats.opening import open_bytes
from saccade.text.languages import Direction, with_tags
from saccade.text.normalize import normalize
from saccade.text.tokenizer import Tokenizers, TokenizerSettings

VERSION = 3
_META = "prepared.json"
_CHUNK = 20_000  # pairs that are cleaned or encoded at a time, and done again at most after an interruption
_FEW = 4  # chunks; fewer are done before a second process has started

Progress = Callable[[str, int, int | None], None]
"""Called with a stage (`cleaning`, `learning`, `encoding`), the pairs done, and their number if known. The first call
of a stage tells how many an earlier, interrupted preparation had done."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared corpus, opened."""

    directory: Path
    tokenizers: Tokenizers
    train: TokenStore
    valid: Mapping[Direction, list[Example]]
    """Pairs that nothing is learned from, of each direction."""
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
        pairs = read_pairs(directory / "valid.source.txt", directory / "valid.target.txt")
        examples = (Example(source, target) for source, target in pairs)
        valid = {Direction(**each["direction"]): list(islice(examples, each["pairs"])) for each in meta["valid"]}
        return cls(directory, tokenizers, train, valid, CleaningReport.from_json(meta["report"]))

    @property
    def directions(self) -> tuple[Direction, ...]:
        """What is learned."""
        return tuple(self.valid)

    @property
    def valid_examples(self) -> list[Example]:
        """Those of all directions."""
        return list(chain.from_iterable(self.valid.values()))

    @property
    def digest(self) -> str:
        """Tells this encoded corpus from any other, so that a run never goes on with another one."""
        return self.train.meta.digest


def prepare(
    data: DataSettings,
    tokenizer: TokenizerSettings,
    directory: Path,
    *,
    seed: int,
    reuse: Tokenizers | None = None,
    directions: Sequence[Direction] = (),
    replaces: bool = True,
    progress: Progress = lambda stage, done, total: None,
) -> Prepared:
    """Prepare into `directory`, or open what is there already if settings and files are still the same.

    `reuse` gives tokenizers instead of learning new ones, and `directions` those of `data` with the tags that these
    have for them. Unless it `replaces` a corpus, other files are refused.
    """
    tagged = dict(zip(data.directions, directions or with_tags(data.directions), strict=True))
    fingerprint = _fingerprint(data, tokenizer, seed, reuse)
    if (directory / _META).exists():
        with suppress(DataError, ModelError):  # a damaged one is made anew
            if _read_meta(directory)["fingerprint"] == fingerprint:
                return Prepared.open(directory)
        meta = {} if replaces else _read_meta(directory)
        if not replaces and meta["fingerprint"] != fingerprint and meta.get("sizes") != _sizes(data):
            raise DataError(
                f"The run of {directory} has checkpoints that learned from other files: their sizes have changed. "
                "Restore the files to resume it, or give the recipe another `run` directory."
            )
    elif directory.is_file() or (directory.is_dir() and any(directory.iterdir())):
        raise OutputExists(
            f"{directory} must be new, empty or a prepared corpus, which is then replaced, but it is none of "
            "these. Choose another path or remove it."
        )
    with _built_aside(directory, fingerprint) as building:
        report, valid = _build(_Job(data, tokenizer, building, seed, reuse, tagged, progress))
        meta = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "sizes": _sizes(data),
            "settings": {"data": settings.table(data), "tokenizer": settings.table(tokenizer), "seed": seed},
            "report": asdict(report),
            "valid": [{"direction": asdict(key), "pairs": len(examples)} for key, examples in valid.items()],
        }
        (building / "corpus" / _META).write_text(json.dumps(meta, indent=1, default=str), encoding="utf-8")
    return Prepared.open(directory)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is asked for, and the directory it is built in."""

    data: DataSettings
    tokenizer: TokenizerSettings
    building: Path
    seed: int
    reuse: Tokenizers | None
    directions: Mapping[Direction, Direction]
    """Those of `data`, and the same with their tags."""
    progress: Progress

    def directory(self, name: str) -> Path:
        path = self.building / name
        path.mkdir(exist_ok=True)
        return path


def _build(job: _Job) -> tuple[CleaningReport, Valid]:
    shutil.rmtree(job.building / "corpus", ignore_errors=True)  # cut short; it is put together anew in no time
    corpus = job.directory("corpus")
    cleaned = _clean(job)
    report = cleaned.report
    _refuse_empty(job.data, report)
    kept = _without_duplicates(job.data, cleaned)
    corpora = read_valid(job.data, report) if job.data.valid else hold_out(job.data, cleaned, kept, job.seed)
    valid = by_direction(job.data, job.directions, corpora)
    _refuse_empty(job.data, report)
    for side in ("source", "target"):
        with (corpus / f"valid.{side}.txt").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{getattr(example, side)}\n" for examples in valid.values() for example in examples)
    tokenizers = _learn(job, cleaned, kept)
    tokenizers.save(corpus)
    _encode(job, cleaned, kept, tokenizers, corpus / "train")
    return report, valid


def _clean(job: _Job) -> chunks.Cleaned:
    """Clean chunk by chunk. The files are read from their beginning in any case: what costs time is cleaning."""
    directory = job.directory("clean")
    done = sum(chunks.num_read(path) for path in directory.glob("*.npz"))
    job.progress("cleaning", done, None)
    paths: list[Path] = []
    tasks = _raw_chunks(job.data, directory, paths)
    head = list(islice(tasks, _FEW))
    for num_read in map_in_processes(chunks.clean, chain(head, tasks), num_workers() if len(head) == _FEW else 0):
        done += num_read
        job.progress("cleaning", done, None)
    cleaned = chunks.Cleaned(paths)
    job.progress("cleaning", cleaned.report.read, cleaned.report.read)
    return cleaned


def _raw_chunks(data: DataSettings, directory: Path, paths: list[Path]) -> Iterator[chunks.RawChunk]:
    """The chunks that are still to be cleaned; the files of all of them are appended to `paths`."""
    several = len(data.directions) > 1
    languages = {each.corpus: f"{each.direction}\t" if several else "" for each in data.streams if not each.is_reversed}
    for number, corpus in enumerate(data.train):
        examples = read(corpus, key=f"data.train[{number}]")
        origin = normalize(corpus.paths[0].name)
        for first_line in count(1, _CHUNK):
            if not (pairs := list(islice(examples, _CHUNK))):
                break
            paths.append(directory / f"{len(paths):06}.npz")
            if chunks.num_read(paths[-1]) != len(pairs):
                yield chunks.RawChunk(paths[-1], number, origin, first_line, pairs, data.cleaning, languages[number])


def _without_duplicates(data: DataSettings, cleaned: chunks.Cleaned) -> chunks.Mask:
    """Which rows are the first of their kind; the report is told of the others."""
    kept = chunks.first_of_equals(cleaned.column("pairs")) if data.cleaning.deduplicate else np.ones(len(cleaned), bool)
    cleaned.drop("duplicate", np.flatnonzero(~kept), cleaned.report)
    cleaned.report.copies_kept = int((cleaned.column("copies") & kept).sum())
    return kept


def _learn(job: _Job, cleaned: chunks.Cleaned, kept: chunks.Mask) -> Tokenizers:
    job.progress("learning", 0, None)
    directory = job.directory("tokenizers")
    if job.reuse:
        job.reuse.save(directory)
        return job.reuse
    files = {"tokenizer": (True, True)} if job.tokenizer.shared else {"source": (True, False), "target": (False, True)}
    jobs = []
    for name, sides in files.items():
        chosen = chunks.sampled(kept[:, None] & np.array(sides), job.tokenizer.max_sentences, job.seed)
        path = directory / f"{name}.spm"
        if not path.exists():
            tags = tuple(dict.fromkeys(direction.tag for direction in job.directions.values() if direction.tag))
            jobs.append(chunks.TokenizerJob(path, cleaned.paths, cleaned.split(chosen), job.tokenizer, tags))
    # In a process of its own, long learning can be interrupted, and two go side by side.
    list(map_in_processes(chunks.learn, jobs, len(jobs) if len(cleaned.paths) >= _FEW else 0))
    return Tokenizers.load(directory)


def _encode(job: _Job, cleaned: chunks.Cleaned, kept: chunks.Mask, tokenizers: Tokenizers, directory: Path) -> None:
    """Encode chunk by chunk, and put the store together from them in order."""
    report, encoded = cleaned.report, job.directory("encoded")
    total = report.kept
    workers = num_workers() if len(cleaned.paths) >= _FEW else 0
    threads = 1 if workers else num_workers()
    job.progress("encoding", sum(chunks.num_encoded(encoded / path.name) for path in cleaned.paths), total)
    common = job.building / "tokenizers", tokenizers.checksums, job.data.max_tokens, threads
    tasks = (
        chunks.CleanChunk(encoded / path.name, path, rows, *common)
        for path, rows in zip(cleaned.paths, cleaned.split(kept), strict=True)
    )

    def parts() -> Iterator[Part]:
        done = 0
        for path in map_in_processes(chunks.encode, tasks, workers):
            part, left_out, num_rows = chunks.read_encoded(path)
            yield from _in_streams(job, part, tokenizers)
            report.add(left_out)
            done += num_rows
            job.progress("encoding", done, total)

    vocabulary = max(len(tokenizers.source), len(tokenizers.target))
    names = [normalize(corpus.paths[0].name) for corpus in job.data.train]
    corpora = [names[stream.corpus] for stream in job.data.streams]
    write_store(directory, parts(), vocabulary=vocabulary, tokenizers=tokenizers.checksums, corpora=corpora)
    if not report.kept:
        raise DataError(
            f"data.max_tokens must leave something to learn from, but it is {job.data.max_tokens} and no pair is so "
            f"short: {report.in_words()}. Raise it."
        )


def _in_streams(job: _Job, part: Part, tokenizers: Tokenizers) -> Iterator[Part]:
    """Encoded pairs of a corpus once for each direction that it is read in, with the tag before each source."""
    source, target, corpus, lines = part
    for number, stream in enumerate(job.data.streams):
        if stream.corpus == corpus:
            read, written = (target, source) if stream.is_reversed else (source, target)
            for id in tokenizers.toward(job.directions[stream.direction].tag).source.tag:
                read = read.prefixed(id)
            yield read, written, number, lines


def _refuse_empty(data: DataSettings, report: CleaningReport) -> None:
    if not report.kept:
        names = ", ".join(str(path) for corpus in data.train for path in corpus.paths)
        raise DataError(
            f"The training corpus must leave at least one pair to learn from, but {names} leave none: "
            f"{report.in_words()}. Check that these are the right files and the settings of [data.cleaning]."
        )


def _fingerprint(data: DataSettings, tokenizer: TokenizerSettings, seed: int, reuse: Tokenizers | None) -> str:
    """Changes when a setting does, or a file's size or time of change."""
    files = []
    for key, corpus in data.corpora.items():
        for name, path in corpus.files.items():
            with open_bytes(path, key=f"data.{key}.{name}") as file:
                status = os.fstat(file.fileno())
            files.append((str(path), status.st_size, status.st_mtime_ns))
    reused = reuse and reuse.checksums
    # These matter in training only.
    data = replace(data, train=tuple(replace(corpus, weight=1.0) for corpus in data.train), temperature=1.0)
    tokenizer = replace(tokenizer, sampling=0.0)
    inputs = [VERSION, settings.table(data), settings.table(tokenizer), seed, reused, files]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, default=str).encode()).hexdigest()


def _sizes(data: DataSettings) -> list[int]:
    """Of all files, in bytes; a file that was only moved or copied keeps its size."""
    return [path.stat().st_size for corpus in data.corpora.values() for path in corpus.paths]


def _read_meta(directory: Path) -> dict[str, Any]:
    try:
        meta: dict[str, Any] = json.loads((directory / _META).read_text(encoding="utf-8"))
        version = meta["version"]
    except (OSError, ValueError, KeyError, TypeError):
        damage = f"its {_META} is missing or damaged. Make one with `saccade prepare`."
        raise DataError(f"{directory} must be a prepared corpus, but {damage}") from None
    if version != VERSION:
        raise DataError(
            f"{directory} must be a prepared corpus of version {VERSION}, but it is of version {version}. "
            "Run `saccade prepare` again with this version of saccade."
        )
    return meta


@contextmanager
def _built_aside(directory: Path, fingerprint: str) -> Iterator[Path]:
    """A hidden neighbour of `directory`, whose `corpus` takes its place at a normal end."""
    # After an interruption it stays, for the same fingerprint; after a DataError it is removed: the data must change.
    building = directory.with_name(f".{directory.name}.building")
    directory.parent.mkdir(parents=True, exist_ok=True)
    refusal = DataError(
        f"{directory} must be prepared by one process at a time, but another one is preparing it. Wait until it has "
        "ended, or stop it: its work so far is kept."
    )
    with files.lock(building.with_name(f"{building.name}.lock"), refusal):
        files.recover(directory)
        claim = building / "fingerprint"
        if not claim.exists() or claim.read_text(encoding="utf-8") != fingerprint:
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            claim.write_text(fingerprint, encoding="utf-8")
        try:
            yield building
        except DataError:
            shutil.rmtree(building)
            raise
        files.replace_directory(building / "corpus", directory)
        shutil.rmtree(building)
