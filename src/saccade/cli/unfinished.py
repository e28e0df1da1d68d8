"""The output of a long job, which nothing that ends the job can spoil: neither Ctrl-C nor SIGKILL nor a power cut.

It grows in OUT.part. Beside it, OUT.part.toml says how many of its bytes are sound, which input they belong to and by
which settings they were made. A chunk is on the disk before it is counted there, so what was counted is whole, and what
was not is made again: no line is lost and none is doubled. At the end OUT.part becomes OUT.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from saccade import __version__, settings
from saccade.cli.console import note
from saccade.directory import sync, write_text
from saccade.engines.engine import Compute, EngineName
from saccade.errors import DataError, OutputExists
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import compress
from saccade.text.formats.stream import EncodingErrors, Lines, Mark
from saccade.text.segments import Split


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Everything that decides how a line is translated. One output must not mix two of these."""

    saccade: str = __version__
    """The version that does it."""
    model: str
    """Checksum of the model, or of each of several."""
    glossary: str = ""
    """Checksum of the terms that translations are held to."""
    mbr: int | None = None
    """How many are drawn to choose from."""
    engine: EngineName = "auto"
    """What runs it."""
    compute: Compute = "float32"
    """Numeric precision."""
    device: str = "cpu"
    """Where the model runs."""
    json: bool = False
    """Whether each line is written as JSON."""
    split: Split = "auto"
    """How texts are cut into parts."""
    encoding_errors: EncodingErrors = "strict"
    """What becomes of bytes that are no text."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How translations are searched for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What OUT.part.toml says."""

    format: int = 1
    """Version of this layout."""
    output: int = 0
    """Bytes of OUT.part that are sound; what follows them is to be cut off."""
    input: Mark = field(default_factory=Mark)
    """How much of the input they are the translation of."""
    job: Job
    """How they were made."""


class Unfinished:
    """An output that is being written."""

    def __init__(self, part: Path, file: BinaryIO, state: State) -> None:
        self.part, self._file, self.state = part, file, state

    def add(self, text: str, mark: Mark) -> None:
        """Append the translation of everything up to the mark; it stays, whatever happens next."""
        content = compress(text.encode("utf-8"), self.part.with_suffix(""))
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.state = replace(self.state, output=self.state.output + len(content), input=mark)
        self.save()

    def save(self) -> None:
        """Say what is sound."""
        write_text(_state_of(self.part), settings.dump(self.state))


@contextmanager
def unfinished(output: Path, job: Job, lines: Lines) -> Iterator[Unfinished]:
    """Begin an output, or go on with one that was begun before, from the line that it ended with.

    At a normal end the output is in place. After an error or Ctrl-C, what there is stays, and is told.
    """
    check_new(output)
    part = output.with_name(f"{output.name}.part")
    with _claimed(part, output) as file:
        result = Unfinished(part, file, _resumed(part, job, lines))
        file.truncate(result.state.output)
        file.seek(result.state.output)
        result.save()
        try:
            yield result
        except BaseException:
            if result.state.output:
                count = f"{result.state.input.lines:,} lines"
                note(f"{part} has the translations of {count}. The same command goes on from there.")
            else:
                _remove(part)
            raise
        if not result.state.output:
            file.write(compress(b"", output))  # nothing, compressed, is not nothing
            file.flush()
        check_new(output)
        part.rename(output)
        sync(output.parent.absolute())
        _remove(part)


def _resumed(part: Path, job: Job, lines: Lines) -> State:
    """The state that the part was left in, and the lines moved on to where it ended."""
    size = part.stat().st_size
    if not _state_of(part).exists():
        if size:
            raise OutputExists(
                f"{part} exists already, and it is not known how it was made. Remove it or name another output; "
                "nothing was translated."
            )
        return State(job=job, input=lines.mark)
    if not size:  # what is left of a job that has ended, or has not begun
        return State(job=job, input=lines.mark)
    state = settings.load(State, _state_of(part))
    again = f"or remove {part} to begin anew"
    # What could be read strictly is read alike when bytes that are no text are replaced.
    alike = replace(job, encoding_errors="strict") if state.job.encoding_errors == "strict" else job
    if changes := settings.differences(state.job, alike):
        raise OutputExists(
            f"{part} was begun in another way, and one output must not mix two: {'; '.join(changes)}. Undo these "
            f"changes to go on with it, {again}."
        )
    if size < state.output:
        raise DataError(
            f"{part} must have at least {state.output:,} bytes, but it has {size:,}: it was changed since it was "
            f"written. Put it back to go on with it, {again}."
        )
    if not lines.skip(state.input):
        raise DataError(
            f"{part} has the translations of {state.input.lines:,} lines, but the input does not begin with the same "
            f"ones. Give the same input to go on with it, {again}."
        )
    if state.input.lines:
        note(f"Going on after line {state.input.lines:,}, which {part} ends with.")
    return replace(state, job=job)


@contextmanager
def _claimed(part: Path, output: Path) -> Iterator[BinaryIO]:
    """The file, which no other process writes to. The lock is the system's, and ends with us."""
    try:
        handle = os.open(part, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None
    with open(handle, "r+b") as file:  # noqa: PTH123
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputExists(
                f"Only one process at a time may write to {part}, but another one is at work there. Wait for it, or "
                "name another output."
            ) from None
        check_new(output)  # the one that held the lock may have ended its job since
        yield file


def check_new(output: Path) -> None:
    """Refuse an output that exists already."""
    if output.exists():
        raise OutputExists(f"{output} exists already. Remove it or name another file; nothing was translated.")


def _state_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.toml")


def _remove(part: Path) -> None:
    """The part, if it has not become the output, and what was known of it."""
    part.unlink(missing_ok=True)
    _state_of(part).unlink(missing_ok=True)
    _state_of(part).with_name(f".{part.name}.toml").unlink(missing_ok=True)
