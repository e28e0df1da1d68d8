"""`saccade translate`: lines in, lines out, as soon as they are there and in memory that does not grow with them."""

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from saccade.cli.console import note, stderr
from saccade.cli.options import Beam, ComputeChoice, Device, EngineChoice, ModelPaths, SearchOverrides
from saccade.errors import SaccadeError, need_torch
from saccade.resumable_output import Job, check_new, open_resumable
from saccade.search.overrides import adjust_search
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_readable, compress
from saccade.text.formats.stream import EncodingErrors, Lines
from saccade.text.segments import Split

if TYPE_CHECKING:
    from saccade.translation import Translation
    from saccade.translator import Translator

CHUNK = 2000  # lines read, sorted by length, translated and written at a time …
FIRST = 16  # … and at first, so that the first ones are there soon
CHARACTERS = 1 << 19  # of a chunk, if its lines are long
PATIENCE = 0.02  # seconds; what came through a pipe is not kept longer to wait for more
NOTES = 20  # on so many lines; the others are counted

# A translation is a line, whatever bytes the model has spelled.
_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def translate(
    model: ModelPaths,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files of lines, plain, gzip or zstd; standard input without any.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write here instead of to standard output; must not exist. Compressed if it ends in .gz or .zst. "
            "Run the same command again to resume an interrupted job.",
            show_default=False,
        ),
    ] = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None,
        typer.Option(
            "--n-best",
            min=1,
            help="Number of translations per line, best first, each with its score before a tab.",
            show_default=False,
        ),
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary",
            metavar="FILE",
            help="Phrases with their translations, a tab between them: to be used where the phrase occurs.",
            show_default=False,
        ),
    ] = None,
    mbr: Annotated[
        int | None,
        typer.Option(
            "--mbr",
            metavar="N",
            min=2,
            help="Sample N translations and take the one that is most like all of them (minimum Bayes risk).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Write each line as JSON: text, score, alternatives (see --n-best) and notes."),
    ] = False,
    overrides: SearchOverrides = None,
    split: Annotated[
        Split,
        typer.Option(
            "--split",
            help="auto: cut lines longer than those the model was trained on. sentences: cut every line into its "
            "sentences. never: have the model read every line whole.",
        ),
    ] = "auto",
    encoding_errors: Annotated[
        EncodingErrors,
        typer.Option("--encoding-errors", help="strict: end at a byte that is not UTF-8. replace: read it as �."),
    ] = "strict",
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    device: Device = "cpu",
) -> None:
    """Translate lines of text; line n of the output belongs to line n of the input, blank lines included.

    Examples: `echo "A dog runs." | saccade translate --model runs/en-de`

    `saccade translate --model runs/en-de news.en -o news.de`

    `saccade translate --model runs/en-de book.en -o book.de --split sentences --set search.length_penalty=0.8`
    """
    from saccade.engines.mbr import candidate_search
    from saccade.evaluation.risk import MinimumRisk
    from saccade.text.formats.glossary import read_glossary
    from saccade.text.wording import Wording
    from saccade.translator import load

    if output is not None:
        check_new(output)
        compress(b"", output)
    for path in files or ():
        check_readable(path)
    wording = None
    if glossary is not None:
        need_torch("--glossary")
        wording = Wording(glossary=read_glossary(glossary))
    risk = None if mbr is None else MinimumRisk(samples=mbr)
    translator = load(model, engine=engine, compute=compute, device=device, wording=wording, mbr=risk)
    # The candidates are sampled, so that the settings of sampling are those that count.
    own = translator.search if risk is None else candidate_search(translator.search, risk)
    search = adjust_search(own, beam, n_best, overrides or (), origin="The command line")
    work = Work(translator, search, split, as_json)
    if not files and sys.stdin.isatty():
        note("Type text to translate, a line at a time; Ctrl-D ends.")
    with closing(Lines(files or (), None if files else sys.stdin.buffer, errors=encoding_errors)) as lines:
        if output is None:
            on_screen = sys.stdout.isatty()
            for text in work.through(lines, most=1 if on_screen else CHUNK, waits=False, hidden=on_screen):
                sys.stdout.write(text)
                sys.stdout.flush()
        else:
            job = Job(
                model=" ".join(member.checksum() for member in translator.members),
                glossary="" if wording is None else _checksum(wording.glossary),
                mbr=mbr,
                engine=engine,
                compute=compute,
                device=device,
                json=as_json,
                split=split,
                encoding_errors=encoding_errors,
                search=search,
            )
            with open_resumable(output, job, lines, note) as result:
                for text in work.through(lines):
                    result.add(text, lines.mark)
    if output is not None or (stderr.is_terminal and not sys.stdout.isatty()):
        note(work.summary)


def _checksum(glossary: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(glossary.items())).encode("utf-8")).hexdigest()


@dataclass(slots=True)
class Work:
    """Translates lines chunk by chunk, and counts."""

    translator: "Translator"
    search: SearchSettings
    split: Split = "auto"
    as_json: bool = False
    lines: int = 0
    parts: int = 0
    tokens: int = 0
    notes: int = 0
    started: float = field(default_factory=time.monotonic)

    def through(
        self, lines: Lines, *, most: int | None = None, waits: bool = True, hidden: bool = False
    ) -> Iterator[str]:
        """The translations of each chunk, in the order of its lines, with `lines.mark` behind it.

        A chunk has at most so many lines. Unless it waits until it is full, it ends when a pipe pauses.
        """
        with _bar(lines, hidden=hidden) as progress:
            reached = lines.read_bytes
            task = progress.add_task("translating", total=lines.num_bytes, completed=reached, lines=lines.num_lines)
            for chunk in chunks(lines, most or CHUNK, waits=waits):
                translations = self.translator.translate(
                    chunk,
                    search=self.search,
                    split=self.split,
                    advanced=_line_counter(progress, task, (lines.read_bytes - reached) / len(chunk)),
                )
                for line, translation in enumerate(translations, start=lines.num_lines - len(chunk) + 1):
                    self._count(line, translation)
                reached = lines.read_bytes
                progress.update(task, completed=reached, lines=lines.num_lines)
                yield "".join(f"{text}\n" for translation in translations for text in self._written(translation))
        if self.notes > NOTES and not self.as_json:
            note(f"{self.notes - NOTES:,} more lines had such notes.")

    @property
    def summary(self) -> str:
        """What was done, and how fast."""
        seconds = time.monotonic() - self.started
        parts = f" in {self.parts:,} parts" if self.parts != self.lines else ""
        return (
            f"{self.lines:,} lines{parts}, {self.tokens:,} tokens written, {seconds:.1f} s: "
            f"{self.parts / seconds:,.1f} sentences/s, {self.tokens / seconds:,.0f} tokens/s"
        )

    def _count(self, line: int, translation: "Translation") -> None:
        self.lines += 1
        self.parts += translation.num_parts
        self.tokens += len(translation.tokens)
        self.notes += bool(translation.notes)
        if self.notes <= NOTES and not self.as_json:
            for remark in translation.notes:
                note(f"line {line} {remark}")

    def _written(self, translation: "Translation") -> Iterator[str]:
        if self.as_json:
            yield _json(translation)
            return
        if self.search.n_best == 1:
            yield _BREAK.sub(" ", translation.text)
            return
        # Where there are fewer, such as for a blank line, the last is repeated: line n of the input has its own lines.
        ranked = (translation, *translation.alternatives)
        several = islice(chain(ranked, repeat(ranked[-1])), self.search.n_best)
        yield from (f"{each.score:.4f}\t{_BREAK.sub(' ', each.text)}" for each in several)


def _json(translation: "Translation") -> str:
    """One line, whatever characters the texts have."""
    described = {
        "text": translation.text,
        "score": translation.score,
        "alternatives": [{"text": other.text, "score": other.score} for other in translation.alternatives],
        "notes": translation.notes,
    }
    return _BREAK.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(described, ensure_ascii=False))


def _line_counter(progress: Progress, task: TaskID, share: float) -> Callable[[int], None]:
    """Moves the bar by lines that are translated, each of which is this many bytes of the input."""

    def advance(count: int) -> None:
        (row,) = (row for row in progress.tasks if row.id == task)
        progress.update(task, advance=count * share, lines=row.fields["lines"] + count)

    return advance


def chunks(lines: Lines, most: int, *, waits: bool) -> Iterator[list[str]]:
    """A few lines at first, then more and more. Where a chunk ends depends on nothing but the lines before.

    That is, if it waits: a resumed output then has the same chunks as one that was never interrupted.
    """
    chunk: list[str] = []
    characters = 0
    try:
        for line in lines:
            chunk.append(line)
            characters += len(line)
            room = min(most, max(FIRST, lines.num_lines - len(chunk)))
            if len(chunk) >= room or characters >= CHARACTERS or (not waits and lines.pauses(PATIENCE)):
                yield chunk
                chunk, characters = [], 0
    except SaccadeError:  # what came before it can be used
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


@contextmanager
def _bar(lines: Lines, *, hidden: bool) -> Iterator[Progress]:
    """A bar by the bytes of files, which are known before they are read; only where a person is watching."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%" if lines.num_bytes else ""),
        TextColumn("{task.fields[lines]:,} lines"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    disable = hidden or not stderr.is_terminal
    # By itself, rich would send what is printed meanwhile to stderr, too.
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False, disable=disable) as progress:
        yield progress
