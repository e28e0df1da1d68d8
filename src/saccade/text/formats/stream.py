"""Lines of files or of a pipe, in constant memory, with marks from which the same input can be resumed."""

import hashlib
import io
import os
import select
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from saccade.errors import DataError
from saccade.text.formats.opening import BOM, DAMAGES, damaged, decompressed, not_utf8, open_bytes

LONGEST = 1 << 20  # bytes of a line; a novel has as many
BLOCK = 1 << 16

EncodingErrors = Literal["strict", "replace"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A place between two lines of an input."""

    file: int = 0
    """Number of the file, from 0."""
    offset: int = 0
    """Bytes of it that were read, decompressed."""
    lines: int = 0
    """Lines that were read, those of earlier files included."""
    checksum: str = ""
    """sha256 of all bytes before."""


class Lines:
    """The lines of all files, or of standard input if there are none, without their ends; to be read once."""

    def __init__(
        self, paths: Sequence[Path], standard_input: BinaryIO | None = None, *, errors: EncodingErrors = "strict"
    ) -> None:
        self._paths, self._standard_input, self._errors = list(paths), standard_input, errors
        self._number = 0
        self._file, self._reader = self._open()
        self._offset = self._line = self._read_before = 0
        self.num_lines = 0  # that were read so far
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[str]:
        while True:
            if raw := self._readline():
                line = self._decoded(raw)
                self._count(raw)
                self._line += 1
                self.num_lines += 1
                yield line
            elif not self._next_file():
                return

    @property
    def mark(self) -> Mark:
        """Where the next line begins: behind all that were read, and before one that could not be."""
        return Mark(file=self._number, offset=self._offset, lines=self.num_lines, checksum=self._hash.hexdigest())

    def skip(self, mark: Mark) -> bool:
        """Go on where an earlier reading ended; whether everything before it is the same."""
        while self._number < mark.file:
            self._pass(None)
            if not self._next_file():
                return False
        self._pass(mark.offset)
        self.num_lines = mark.lines
        return self.mark == mark

    def pauses(self, seconds: float) -> bool:
        """Whether no line comes within this time, though there may be more later. Files never pause."""
        return isinstance(self._reader, Pipe) and self._reader.pauses(seconds)

    @property
    def read_bytes(self) -> int:
        """How much of `num_bytes` is read; of a compressed file, its compressed bytes."""
        return self._read_before + (self._file.tell() if self._file is not None and self._file.seekable() else 0)

    @property
    def num_bytes(self) -> int | None:
        """The size of all files, or None if there is a pipe among them."""
        all_files = bool(self._paths) and all(path.is_file() for path in self._paths)
        return sum(path.stat().st_size for path in self._paths) if all_files else None

    def close(self) -> None:
        """Nothing can be read afterwards."""
        if self._file is not None:
            if isinstance(self._reader, io.BufferedReader):
                self._reader.close()
            self._file.close()

    def _open(self) -> "tuple[io.BufferedReader | None, io.BufferedReader | Pipe]":
        """A file, and the content that it holds."""
        if not self._paths:
            assert self._standard_input is not None
            return None, Pipe(self._standard_input)
        file = open_bytes(self._paths[self._number])
        return file, decompressed(file)

    def _next_file(self) -> bool:
        """Whether there is one more."""
        if self._number + 1 >= len(self._paths):
            return False
        self._read_before = self.read_bytes
        self.close()
        self._number += 1
        self._file, self._reader = self._open()
        self._offset = self._line = 0
        self._hash.update(b"\0")  # two files are not one
        return True

    def _readline(self) -> bytes:
        try:
            raw = self._reader.readline(LONGEST + 1)
        except DAMAGES as error:
            raise damaged(self._paths[self._number], self._line, error) from None
        if len(raw) > LONGEST and not raw.endswith(b"\n"):
            name = self._paths[self._number] if self._paths else "standard input"
            raise DataError(
                f"A line must have at most {LONGEST:,} bytes, but line {self._line + 1} of {name} has more. Is it "
                "text, with a newline after each paragraph? Put some in, for example with: fold -s -w 1000"
            )
        return raw

    def _decoded(self, raw: bytes) -> str:
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        if self._line == 0:
            line = line.removeprefix(BOM)
        try:
            return line.decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            if self._paths:
                raise not_utf8(self._paths[self._number], self._line + 1, error) from None
            raise DataError(
                f"Standard input must be UTF-8 text, but byte {error.start + 1} of line {self._line + 1} is "
                f"0x{line[error.start]:02X}, which is not. Convert it first, for example with: "
                "iconv -f WINDOWS-1252 -t UTF-8"
            ) from None

    def _pass(self, size: int | None) -> None:
        """Read over so many bytes of the file, or all, without looking at its lines."""
        while size is None or self._offset < size:
            try:
                block = self._reader.read(BLOCK if size is None else min(BLOCK, size - self._offset))
            except DAMAGES as error:
                raise damaged(self._paths[self._number], self._line, error) from None
            if not block:
                return
            self._count(block)
            self._line += block.count(b"\n")

    def _count(self, content: bytes) -> None:
        self._offset += len(content)
        self._hash.update(content)


class Pipe:
    """A stream that tells whether more is there already."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._content, self._at = file, b"", 0
        self._handle: int | None = None
        with suppress(OSError):  # it is no stream of the system
            self._handle = file.fileno()

    def readline(self, limit: int) -> bytes:
        """Up to and with the next newline, but no more than so many bytes."""
        if self._content.find(b"\n", self._at) < 0:
            self._gather(limit)
        end = self._content.find(b"\n", self._at) + 1 or len(self._content)
        begin, self._at = self._at, min(end, self._at + limit)
        return self._content[begin : self._at]

    def _gather(self, limit: int) -> None:
        """Wait for a newline, for the end or for so many bytes."""
        pieces = [self._content[self._at :]]
        while sum(map(len, pieces)) < limit and (block := self._more()):
            pieces.append(block)
            if b"\n" in block:
                break
        self._content, self._at = b"".join(pieces), 0

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end only."""
        if self._at == len(self._content):
            self._content, self._at = self._more(), 0
        found = self._content[self._at : self._at + size]
        self._at += len(found)
        return found

    def pauses(self, seconds: float) -> bool:
        """Whether neither a line nor the end is there, nor comes within this time."""
        if self._handle is None or self._content.find(b"\n", self._at) >= 0:
            return False
        try:
            return not select.select([self._handle], [], [], seconds)[0]
        except (OSError, ValueError):  # Windows knows this for sockets only
            return False

    def _more(self) -> bytes:
        return self._file.read(BLOCK) if self._handle is None else os.read(self._handle, BLOCK)
