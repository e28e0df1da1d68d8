"""Lines come as they are read, in bounded memory, and a reading that ended is gone on with."""

import gzip
import io
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.text.formats import stream
from saccade.text.formats.stream import Lines, Mark, Pipe

CONTENTS = [b"\xef\xbb\xbfone\r\ntwo\n\nthree", b"", b"four\n", "fünf\u2028\rx\x00\n\n".encode()]
LINES = ["one", "two", "", "three", "four", "fünf\u2028\rx\x00", ""]


@pytest.fixture(params=["plain", "gzip", "zstd"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    pack = {"plain": lambda raw: raw, "gzip": gzip.compress, "zstd": zstandard.compress}[request.param]
    paths = [tmp_path / str(number) for number in range(len(CONTENTS))]
    for path, content in zip(paths, CONTENTS, strict=True):
        path.write_bytes(pack(content))
    return paths


def test_files_one_after_another(files: list[Path]):
    with closing(Lines(files)) as lines:
        assert list(lines) == LINES
        assert lines.read_bytes == lines.num_bytes == sum(path.stat().st_size for path in files)


def test_a_reading_is_gone_on_with_from_any_line(files: list[Path]):
    with closing(Lines(files)) as lines:
        marks = [lines.mark, *(lines.mark for _ in lines)]
    assert [mark.lines for mark in marks] == list(range(len(LINES) + 1))
    for mark in marks:
        with closing(Lines(files)) as lines:
            assert lines.skip(mark)
            assert lines.mark == mark
            assert list(lines) == LINES[mark.lines :]


@pytest.mark.parametrize(
    "change", [lambda raw: raw.replace(b"o", b"u"), lambda raw: raw[1:], lambda raw: b"", lambda raw: b"x\n" + raw]
)
def test_another_input_is_noticed(change, tmp_path: Path):
    path = tmp_path / "in"
    path.write_bytes(b"one\ntwo\nthree\n")
    with closing(Lines([path])) as lines:
        iterator = iter(lines)
        next(iterator), next(iterator)
        mark = lines.mark
    path.write_bytes(path.read_bytes() + b"more\n")
    with closing(Lines([path])) as lines:
        assert lines.skip(mark), "what comes after the mark may change"
    path.write_bytes(change(path.read_bytes()))
    with closing(Lines([path])) as lines:
        assert not lines.skip(mark)


def test_what_was_one_file_is_not_two(tmp_path: Path):
    for name, content in (("whole", b"a\nb\n"), ("a", b"a\n"), ("b", b"b\n")):
        (tmp_path / name).write_bytes(content)
    with closing(Lines([tmp_path / "whole"])) as lines:
        assert len(list(lines)) == 2
        mark = lines.mark
    with closing(Lines([tmp_path / "a", tmp_path / "b"])) as lines:
        assert not lines.skip(mark)
    with closing(Lines([tmp_path / "whole"])) as lines:
        assert not lines.skip(Mark(file=2))


def test_a_line_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream, "LONGEST", 10)
    path = tmp_path / "in"
    path.write_bytes(b"0123456789\n0123456789\r\n")
    with closing(Lines([path])) as lines:
        assert next(iter(lines)) == "0123456789", "its end does not count"
        with pytest.raises(DataError, match=r"at most 10 bytes, but line 2 of .*in has more"):
            next(iter(lines))
    with pytest.raises(DataError, match=r"line 1 of standard input has more"):
        list(Lines([], io.BytesIO(b"x" * 1000)))


def test_bytes_that_are_no_text():
    assert list(Lines([], io.BytesIO(b"a\xffb\n\xed\xa0\xbd\n"), errors="replace")) == ["a\ufffdb", "\ufffd" * 3]


@given(st.binary(max_size=50), st.integers(1, 12), st.integers(1, 9))
def test_a_pipe_reads_lines_as_a_file_does(content: bytes, limit: int, block: int):
    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(block)

    pipe, file = Pipe(Dripping(content)), io.BytesIO(content)
    while expected := file.readline(limit):
        assert pipe.readline(limit) == expected
    assert pipe.readline(limit) == b""


def test_a_pipe_is_read_as_far_as_it_goes():
    """A line is there before the next has come, and a writer that waits for an answer is known to wait."""
    reading, writing = os.pipe()
    with open(reading, "rb") as file:  # noqa: PTH123
        lines = Lines([], file)
        answers: Iterator[str] = iter(lines)
        os.write(writing, b"one\ntwo\nthr")
        assert next(answers) == "one"
        assert not lines.pauses(0), "the next line is there"
        assert next(answers) == "two"
        assert lines.pauses(0), "half a line is none"
        os.write(writing, b"ee\n")
        assert not lines.pauses(0)
        assert next(answers) == "three"
        os.close(writing)
        assert not lines.pauses(0), "the end is there, too"
        assert list(answers) == []
        assert lines.num_bytes is None


def test_a_late_line_is_waited_for():
    reading, writing = os.pipe()
    with open(reading, "rb") as file:  # noqa: PTH123
        lines = Lines([], file)

        def write() -> None:
            for _ in range(3):
                time.sleep(random.random() / 50)
                os.write(writing, b"x")
            os.write(writing, b"\n")
            os.close(writing)

        writer = threading.Thread(target=write)
        writer.start()
        assert list(lines) == ["xxx"]
        writer.join()
