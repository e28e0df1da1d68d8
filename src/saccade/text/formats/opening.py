"""Lines of plain, gzip or zstd files, streamed in constant memory; only a newline ends a line."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from saccade.errors import DataError, OutputExists

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
BLOCK = 1 << 13
BOM = b"\xef\xbb\xbf"
DAMAGES = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
_OTHERS = {
    "a ZIP archive, such as a Word or Excel document": (b"pk\x03\x04",),
    "a PDF document": (b"%pdf-",),
    "an HTML page": (b"<!doctype html", b"<html"),
    "an XML file": (b"<?xml", b"<tmx", b"<xliff"),
}
"""What people have beside text, by how it begins, in lower case."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def open_text(path: Path, *, key: str = "") -> Iterator[str]:
    """The lines of a UTF-8 file without their ends; `key` is the setting that names it, for messages."""
    with open_bytes(path, key=key) as file:
        number = 0
        try:
            for number, raw in enumerate(decompressed(file), start=1):
                line = raw.removesuffix(b"\n").removesuffix(b"\r")
                if number == 1:
                    line = line.removeprefix(BOM)
                yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(path, number, error) from None
        except DAMAGES as error:
            raise damaged(path, number, error) from None


def check_readable(path: Path) -> None:
    """Refuse a file that `open_text` would refuse to open; a pipe is left untouched."""
    if not path.is_fifo():
        open_bytes(path).close()


def check_new(path: Path, done: str, kind: str = "file") -> None:
    """Refuse an output that exists already; the message ends with what was not `done`."""
    if path.exists():
        raise OutputExists(f"{path} exists already. Remove it or name another {kind}; nothing was {done}.")


def open_bytes(path: Path, *, key: str = "") -> io.BufferedReader:
    """The file as it stands, or a message that says why it cannot be had."""
    named = f", named by {key}," if key else ""
    if path.is_dir():
        raise DataError(f"{path}{named} must be a text file, but it is a directory. Name the file inside it.")
    try:
        if path.is_file():
            with path.open("rb") as file:
                _check_lines(path, file.read(1024))
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(
            f"The file {path}{named} must exist, but it does not. Check the path; in a recipe, relative ones "
            "start from the recipe's own directory. docs/data.md says where the public data sets come from."
        ) from None
    except OSError as error:
        raise DataError(
            f"The file {path}{named} must be readable, but it is not: {error.strerror}. Check its permissions."
        ) from None


def _check_lines(path: Path, head: bytes) -> None:
    """Refuse what is plainly not a file of lines, by the name of what it is."""
    start = head.removeprefix(BOM).lstrip().lower()
    for what, beginnings in _OTHERS.items():
        if start.startswith(beginnings):
            what = "a translation memory (TMX)" if b"<tmx" in start else what
            raise DataError(
                f"{path} must be a file of lines, but it is {what}. Export its text, a sentence a line, or source "
                "and target in two columns with a tab between them."
            )
    if b"\n" not in head and head.count(b"\r") >= 2 and not head.startswith((_GZIP, _ZSTD)):
        raise DataError(
            f"The lines of {path} must end in LF or CR LF, but they end in CR alone. Convert it with: "
            f"tr '\\r' '\\n' < {path} > {path.stem}.lf{path.suffix}"
        )


def decompressed(file: io.BufferedReader) -> io.BufferedReader:
    """What a file holds, in whichever way it was packed."""
    head = file.peek(4)  # without moving on: a pipe cannot be wound back
    if head.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=_SmallReads(file)), BLOCK)  # type: ignore[call-overload]
    if head.startswith(_ZSTD):
        return io.BufferedReader(_ZstdReader(file), BLOCK)
    return file


class _SmallReads:
    """Hands a file out in small blocks, so that its position tells how much of it has been decompressed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(min(size, BLOCK) if size >= 0 else BLOCK)


def compress(content: bytes, path: Path) -> bytes:
    """Content as a file of this name holds it: compressed if it ends in .gz or .zst. Blocks may follow one another."""
    match path.suffix.lower():
        case ".gz":
            return gzip.compress(content, mtime=0)
        case ".zst":
            return zstandard.ZstdCompressor().compress(content)
        case ".bz2" | ".xz" | ".zip" | ".7z" as suffix:
            raise DataError(f"{path} must be plain text, .gz or .zst, but {suffix} is none of them. Name another file.")
    return content


class _ZstdReader(io.RawIOBase):
    """Zstd frames, one after another; unlike zstandard's own reader it notices a file cut short."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._within_frame = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            if not (chunk := self._next_chunk()):
                return 0
            self._ready = self._frame.decompress(chunk)
            self._within_frame = not self._frame.eof
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _next_chunk(self) -> bytes:
        chunk = self._frame.unused_data or self._file.read(BLOCK)
        if self._frame.eof:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        if not chunk and self._within_frame:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        return chunk


def damaged(path: Path, number: int, error: Exception) -> DataError:
    """A compressed file of which so many lines could be read."""
    problem = f"it is damaged after line {number}: {error}"
    return DataError(f"{path} must be a complete compressed file, but {problem}. Copy or download it again.")


def not_utf8(path: Path, number: int, error: UnicodeDecodeError) -> DataError:
    """A line with a byte that no UTF-8 text has."""
    utf16 = number == 1 and error.object.startswith(_UTF16)
    known = "UTF-16" if utf16 else "its real encoding (such as WINDOWS-1252 or GB18030)"
    return DataError(
        f"{path} must be UTF-8 text, but byte {error.start + 1} of line {number} is "
        f"0x{error.object[error.start]:02X}, which is not. Convert the file from {known}, for example with: "
        f"iconv -f {'UTF-16' if utf16 else 'WINDOWS-1252'} -t UTF-8 {path} > {path.stem}.utf8{path.suffix}"
    )
