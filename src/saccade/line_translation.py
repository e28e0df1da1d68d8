"""Lines in, lines out: files of any size, chunk by chunk, in memory that does not grow with them, resumable."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path

from saccade.engines.mbr import candidate_search
from saccade.errors import SaccadeError
from saccade.resumable_output import Job, open_resumable
from saccade.search.overrides import adjust_search
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_new, check_readable, compress
from saccade.text.formats.stream import EncodingErrors, Lines
from saccade.text.segments import Split
from saccade.translation import Translation
from saccade.translator import Translator

CHUNK = 2000  # lines read, sorted by length, translated and written at a time …
FIRST = 16  # … and at first, so that the first ones are there soon
CHARACTERS = 1 << 19  # of a chunk, if its lines are long
PATIENCE = 0.02  # seconds; what came through a pipe is not kept longer to wait for more
NOTES = 20  # on so many lines; the others are counted

# A translation is a line, whatever bytes the model has spelled.
_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class LineReporter:
    """Watches a translation of lines in silence; override the methods that you want to hear of."""

    def advanced(self, read_bytes: float, lines: int) -> None:
        """This much of the input has been translated."""

    def noted(self, sentence: str) -> None:
        """Something that the user should know, such as a line that is too long."""


@dataclass(frozen=True, slots=True)
class LineOptions:
    """How lines are translated and written."""

    beam: int | None = None
    """Beam width; the model's own unless given."""
    n_best: int | None = None
    """Translations of each line, each after its score and a tab."""
    overrides: Sequence[str] = ()
    """Settings of the search, such as `search.length_penalty=0.8`."""
    split: Split = "auto"
    """See `Translator.translate`."""
    as_json: bool = False
    """Write a JSON object a line, with score, alternatives and notes."""
    encoding_errors: EncodingErrors = "strict"
    """What to do with bytes that are not UTF-8: `strict` stops there, `replace` reads them as �."""


def translate_file(
    translator: Translator,
    sources: str | Path | Sequence[str | Path],
    output: str | Path,
    options: LineOptions | None = None,
    reporter: LineReporter | None = None,
) -> "LineTranslation":
    """Translate files line by line into a new file, compressed if .gz or .zst; the same call resumes it."""
    paths = [Path(path) for path in ([sources] if isinstance(sources, str | Path) else sources)]
    check_output(Path(output))
    for path in paths:
        check_readable(path)
    work = LineTranslation(translator, options or LineOptions(), reporter or LineReporter())
    with closing(Lines(paths, None, errors=work.options.encoding_errors)) as lines:
        work.write(lines, Path(output))
    return work


def check_output(output: Path) -> None:
    """Refuse an output that exists or that would be compressed in a way that is not known."""
    check_new(output, "translated")
    compress(b"", output)


@dataclass(slots=True)
class LineTranslation:
    """Translates lines chunk by chunk, and counts."""

    translator: Translator
    options: LineOptions = field(default_factory=LineOptions)
    reporter: LineReporter = field(default_factory=LineReporter)
    search: SearchSettings = field(init=False)
    lines: int = 0
    parts: int = 0
    tokens: int = 0
    notes: int = 0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        options, mbr = self.options, self.translator.mbr
        # Minimum Bayes risk compares samples, so that the settings of sampling are those that count.
        own = self.translator.search if mbr is None else candidate_search(self.translator.search, mbr)
        self.search = adjust_search(own, options.beam, options.n_best, options.overrides, origin="The command line")

    def write(self, lines: Lines, output: Path) -> None:
        """Translate all lines into a file, or resume it."""
        mbr, glossary = self.translator.mbr, self.translator.wording.glossary
        job = Job(
            model=" ".join(member.checksum() for member in self.translator.members),
            glossary=hashlib.sha256(repr(sorted(glossary.items())).encode()).hexdigest() if glossary else "",
            mbr=None if mbr is None else mbr.samples,
            runtime=self.translator.runtime,
            json=self.options.as_json,
            split=self.options.split,
            encoding_errors=self.options.encoding_errors,
            search=self.search,
        )
        with open_resumable(output, job, lines, self.reporter.noted) as result:
            for text in self.translate(lines):
                result.add(text, lines.mark)

    def translate(self, lines: Lines, *, most: int | None = None, waits: bool = True) -> Iterator[str]:
        """The translations of each chunk of at most `most` lines; unless it `waits`, one ends when a pipe pauses."""
        reached = lines.read_bytes
        for chunk in chunk_lines(lines, most or CHUNK, waits=waits):
            first, share = lines.num_lines - len(chunk), (lines.read_bytes - reached) / len(chunk)
            translations = self.translator.translate(
                chunk, search=self.search, split=self.options.split, advanced=self._counter(reached, first, share)
            )
            for line, translation in enumerate(translations, start=first + 1):
                self._count(line, translation)
            reached = lines.read_bytes
            self.reporter.advanced(reached, lines.num_lines)
            yield "".join(f"{text}\n" for translation in translations for text in self._written(translation))
        if self.notes > NOTES and not self.options.as_json:
            self.reporter.noted(f"{self.notes - NOTES:,} more lines had such notes.")

    @property
    def summary(self) -> str:
        """What was done, and how fast."""
        seconds = time.monotonic() - self.started
        parts = f" in {self.parts:,} parts" if self.parts != self.lines else ""
        return (
            f"{self.lines:,} lines{parts}, {self.tokens:,} tokens written, {seconds:.1f} s: "
            f"{self.parts / seconds:,.1f} sentences/s, {self.tokens / seconds:,.0f} tokens/s"
        )

    def _counter(self, read_bytes: float, lines: int, share: float) -> Callable[[int], None]:
        """Reports lines that are translated, each of which is `share` bytes of the input."""
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            self.reporter.advanced(read_bytes + done * share, lines + done)

        return advance

    def _count(self, line: int, translation: Translation) -> None:
        self.lines += 1
        self.parts += translation.num_parts
        self.tokens += len(translation.tokens)
        self.notes += bool(translation.notes)
        if self.notes <= NOTES and not self.options.as_json:
            for remark in translation.notes:
                self.reporter.noted(f"line {line} {remark}")

    def _written(self, translation: Translation) -> Iterator[str]:
        if self.options.as_json:
            yield _json(translation)
            return
        if self.search.n_best == 1:
            yield _BREAK.sub(" ", translation.text)
            return
        # Where there are fewer, such as for a blank line, the last is repeated: line n of the input has its own lines.
        ranked = (translation, *translation.alternatives)
        several = islice(chain(ranked, repeat(ranked[-1])), self.search.n_best)
        yield from (f"{hypothesis.score:.4f}\t{_BREAK.sub(' ', hypothesis.text)}" for hypothesis in several)


def chunk_lines(lines: Lines, most: int, *, waits: bool) -> Iterator[list[str]]:
    """A few lines at first, then more; if it waits, chunks depend on the lines alone, so that outputs can resume."""
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


def _json(translation: Translation) -> str:
    """One line, whatever characters the texts have."""
    described = {
        "text": translation.text,
        "score": translation.score,
        "alternatives": [{"text": other.text, "score": other.score} for other in translation.alternatives],
        "notes": translation.notes,
    }
    return _BREAK.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(described, ensure_ascii=False))
