"""The output of a long job, which neither Ctrl-C nor SIGKILL nor a power cut can spoil.

It grows in OUT.part. OUT.part.toml says how many of its bytes are valid, and for which input and settings; a chunk is
on the disk before it is counted there. At the end OUT.part becomes OUT.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from saccade import __version__, files, settings
from saccade.errors import DataError, OutputExists
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_new, compress
from saccade.text.formats.stream import EncodingErrors, Lines, Mark
from saccade.text.segments import Split

Report = Callable[[str], None]
"""Called with a sentence for the user: where the output is resumed, or how much of it is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Everything that decides how a line is translated. One output must not mix two of these."""

    saccade: str = __version__
    """Version of saccade."""
    model: str
    """Checksum of the model, or of each of several."""
    glossary: str = ""
    """Checksum of the terms that constrain translations."""
    mbr: int | None = None
    """Number of samples that minimum Bayes risk chooses from."""
    runtime: str = ""
    """Engine, numeric precision and device."""
    json: bool = False
    """Whether each line is written as JSON."""
    split: Split = "auto"
    """How texts are split into parts."""
    encoding_errors: EncodingErrors = "strict"
    """What to do with bytes that are not UTF-8."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How translations are searched for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What OUT.part.toml says."""

    format: int = 1
    """Version of this layout."""
    output: int = 0
    """Bytes of OUT.part that are valid; what follows them is cut off."""
    input: Mark = field(default_factory=Mark)
    """How much of the input they are the translation of."""
    job: Job
    """How they were made."""


class ResumableOutput:
    """An output that is being written."""

    def __init__(self, part: Path, file: BinaryIO, state: State) -> None:
        self._part, self._file, self.state = part, file, state

    def add(self, text: str, mark: Mark) -> None:
        """Append the translation of everything up to the mark; it stays, whatever happens next."""
        content = compress(text.encode("utf-8"), self._part.with_suffix(""))
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.state = replace(self.state, output=self.state.output + len(content), input=mark)
        self.save_state()

    def save_state(self) -> None:
        """Write OUT.part.toml."""
        files.write_atomically(_state_path(self._part), settings.dump(self.state))


@contextmanager
def open_resumable(
    output: Path, job: Job, lines: Lines, report: Report = lambda sentence: None
) -> Iterator[ResumableOutput]:
    """Begin or resume an output, with `lines` moved to the first not in it; after an error, what is written stays."""
    check_new(output, "translated")
    part = output.with_name(f"{output.name}.part")
    with _lock(part, output):
        with part.open("r+b" if part.exists() else "x+b") as file:
            result = ResumableOutput(part, file, _resume(part, job, lines, report))
            file.truncate(result.state.output)
            file.seek(result.state.output)
            result.save_state()
            try:
                yield result
            except BaseException:
                if result.state.output:
                    count = f"{result.state.input.lines:,} lines"
                    report(f"{part} holds the translations of {count}. Run the same command again to resume.")
                else:
                    _remove(part)
                raise
            if not result.state.output:
                file.write(compress(b"", output))  # a compressed file of nothing has bytes
        check_new(output, "translated")
        part.rename(output)
        files.sync(output.parent.absolute())
        _remove(part)


def _resume(part: Path, job: Job, lines: Lines, report: Report) -> State:
    """The state that the part was left in, and the lines moved on to where it ended."""
    files.recover(_state_path(part))
    size = part.stat().st_size
    if size and not _state_path(part).exists():
        raise OutputExists(
            f"{part} exists already, and {_state_path(part).name}, which would say how to resume it, is missing. "
            "Remove it or name another output; nothing was translated."
        )
    if not size:  # left by a job that has ended, or has not begun
        return State(job=job, input=lines.mark)
    state = settings.load(State, _state_path(part))
    restart = f"or remove {part} to start over"
    # What could be read strictly reads the same with replacements.
    comparable = replace(job, encoding_errors="strict") if state.job.encoding_errors == "strict" else job
    if changes := settings.differences(state.job, comparable):
        raise OutputExists(
            f"{part} was made with other settings, and one output must not mix two: {'; '.join(map(str, changes))}. "
            f"Undo these changes to resume it, {restart}."
        )
    if size < state.output:
        raise DataError(
            f"{part} must have at least {state.output:,} bytes, but it has {size:,}: it was changed since it was "
            f"written. Restore it to resume, {restart}."
        )
    if not lines.skip(state.input):
        raise DataError(
            f"{part} holds the translations of {state.input.lines:,} lines, but the input does not begin with the same "
            f"ones. Give the same input to resume, {restart}."
        )
    if state.input.lines:
        report(f"Resuming after line {state.input.lines:,}, the last one in {part}.")
    return replace(state, job=job)


@contextmanager
def _lock(part: Path, output: Path) -> Iterator[None]:
    """Keep other processes from writing to the part."""
    refusal = OutputExists(
        f"Only one process at a time may write to {part}, but another one is doing so. Wait for it, or name another "
        "output."
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(files.lock(part.with_name(f".{part.name}.lock"), refusal))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(output)) from None
        check_new(output, "translated")  # the process that held the lock may have finished since
        yield


def _state_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.toml")


def _remove(part: Path) -> None:
    """Remove the part, if it has not become the output, and its state."""
    part.unlink(missing_ok=True)
    _state_path(part).unlink(missing_ok=True)
