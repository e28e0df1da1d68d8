"""A translation memory in, the pairs worth learning from out; the others are counted by reason."""

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress as select
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from saccade import settings
from saccade.data.chunks import first_of_equals
from saccade.data.corpus import REASONS, CleaningReport, Example, digest, read, reason_to_drop
from saccade.data.settings import CleaningSettings, CorpusSettings
from saccade.errors import DataError
from saccade.files import draft_file
from saccade.scorer import score_pairs
from saccade.text.formats.opening import check_new, check_readable, compress
from saccade.text.languages import check_language, scripts_of, uses_script
from saccade.text.normalize import normalize
from saccade.training.reporter import Reporter
from saccade.translator import Translator

BLOCK, REPORTED = 10_000, 1000  # pairs that are written, and that are reported, at a time
T = TypeVar("T")
Verdicts = list[str | None]
"""Of each pair the reason to leave it out, if there is one."""


@dataclass(frozen=True, slots=True)
class ScoreFilter:
    """Leaves out pairs that a model finds unlikely, by log p(target | source) per token, in nats."""

    translator: Translator
    least: float = -math.inf
    """Pairs with a lower score are left out."""
    worst: float = 0.0
    """This share of the pairs is left out, too: those with the lowest scores."""

    def __post_init__(self) -> None:
        if not 0 <= self.worst < 1:
            raise DataError(f"worst must be a share of the pairs, at least 0 and below 1, not {self.worst}.")


def clean(
    files: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    languages: tuple[str | None, str | None] = (None, None),
    score_filter: ScoreFilter | None = None,
    rejected: str | Path | None = None,
    overrides: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> CleaningReport:
    """Write the pairs of a TSV file, or of two files of lines, that are worth learning from to a new TSV file.

    Left out are pairs as `[data.cleaning]` says, with `overrides` such as `max_ratio=3`, and copies of the source;
    sides without a letter of their script; and unlikely pairs, if there is a `score_filter`. These go to the new
    file `rejected`, each after its reason. Outputs are compressed if their names end in .gz or .zst.
    """
    corpus, outputs = _corpus(files), [Path(path) for path in (output, rejected) if path is not None]
    for path in corpus.paths:
        check_readable(path)
        if path.is_fifo():
            raise DataError(f"A memory is read several times, but {path} is a pipe. Write it to a file first.")
    for path in outputs:
        check_new(path, "cleaned")
        compress(b"", path)  # which refuses other endings
    cleaning = settings.override(CleaningSettings(drop_copies=True), overrides, origin="clean")
    reporter = reporter or Reporter()
    verdicts = _check_pairs(corpus, cleaning, languages, reporter)
    if score_filter is not None:
        _check_scores(corpus, score_filter, verdicts, reporter)
    report = _write(corpus, verdicts, outputs, reporter)
    rows = [(what, f"{count:,}", example) for what, count, example in report.table()]
    reporter.prepared(f"{report.kept:,} of {report.read:,} pairs are in {output}", rows)
    return report


def _corpus(files: str | Path | Sequence[str | Path]) -> CorpusSettings:
    match [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]:
        case [file]:
            return CorpusSettings(file=file)
        case [source, target] if source != target:
            return CorpusSettings(source=source, target=target)
        case paths:
            named = " and ".join(map(str, paths)) or "nothing"
            raise DataError(f"A memory must be one TSV file, or a source file and its translation, not {named}.")


def _check_pairs(
    corpus: CorpusSettings, cleaning: CleaningSettings, languages: Iterable[str | None], reporter: Reporter
) -> Verdicts:
    """What can be told of pairs without a model."""
    scripts = [() if code is None else scripts_of(check_language(code)) for code in languages]
    verdicts, digests = Verdicts(), array("Q")
    for pair in _watched(read(corpus), "checking", reporter):
        example = Example(*map(normalize, pair))
        reason = reason_to_drop(example, cleaning)
        if reason is None and not all(map(uses_script, (example.source, example.target), scripts)):
            reason = "script"
        verdicts.append(reason)
        digests.extend([digest(f"{example.source}\t{example.target}")] if reason is None else [])
    first = iter(first_of_equals(np.array(digests, np.uint64)).tolist())
    repeated = "duplicate" if cleaning.deduplicate else None
    return [reason or (None if next(first) else repeated) for reason in verdicts]


def _check_scores(corpus: CorpusSettings, limit: ScoreFilter, verdicts: Verdicts, reporter: Reporter) -> None:
    """Mark the pairs that a model finds unlikely."""
    rows = [row for row, reason in enumerate(verdicts) if reason is None]
    pairs = select(read(corpus), [reason is None for reason in verdicts])
    scored = _watched(score_pairs(limit.translator, pairs), "scoring", reporter, len(rows))
    scores = np.array([one.log_prob / len(one.log_probs) for one in scored if one is not None])
    lowest = max([limit.least, *np.sort(scores)[int(limit.worst * len(rows)) :][:1].tolist()])
    for row in select(rows, (scores < lowest).tolist()):
        verdicts[row] = "score"


def _write(corpus: CorpusSettings, verdicts: Verdicts, outputs: Sequence[Path], reporter: Reporter) -> CleaningReport:
    """Write what is kept to the first output, and the rest to the second if there is one; all of it or nothing."""
    report, origin = CleaningReport(read=len(verdicts)), normalize(corpus.paths[0].name)
    rows = enumerate(_watched(zip(read(corpus), verdicts, strict=True), "writing", reporter, len(verdicts)), start=1)
    with ExitStack() as stack:
        files = [stack.enter_context(stack.enter_context(draft_file(path)).open("wb")) for path in outputs]
        while block := list(islice(rows, BLOCK)):
            lines: tuple[list[str], list[str]] = [], []
            for line, (pair, reason) in block:
                if reason is not None:
                    report.drop(reason, Example(*map(normalize, pair)), f"{origin}:{line}")
                cells = pair if reason is None else (REASONS[reason], *pair)
                lines[reason is not None].append("\t".join(cell.replace("\t", " ") for cell in cells) + "\n")
            for file, path, own in zip(files, outputs, lines, strict=False):
                file.write(compress("".join(own).encode(), path))
    return report


def _watched(items: Iterable[T], stage: str, reporter: Reporter, total: int | None = None) -> Iterator[T]:
    """The same items, while the reporter hears how many there were."""
    reporter.preparing(stage, 0, total, "pairs")
    for done, item in enumerate(items, start=1):
        yield item
        if done % REPORTED == 0 or done == total:
            reporter.preparing(stage, done, total, "pairs")
