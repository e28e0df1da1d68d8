"""Killed at any moment and started again, a job ends with the very bytes of one that was left in peace."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from saccade import resumable_output as module
from saccade.resumable_output import Job, open_resumable
from saccade.text.formats.stream import Lines

JOB = Job(model="that one")
LINES = [f"line {number}" for number in range(20)]


class Killed(BaseException):
    """What comes instead of SIGKILL: nothing of ours runs after it."""


def work(source: Path, output: Path) -> None:
    """Turns lines into capitals, three at a time."""
    with closing(Lines([source])) as lines, open_resumable(output, JOB, lines) as result:
        iterator: Iterator[str] = iter(lines)
        while chunk := list(islice(iterator, 3)):
            result.add("".join(f"{line.upper()}\n" for line in chunk), lines.mark)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.write_text("\n".join(LINES))
    return path


class Fatal:
    """Lets so many calls to the system pass, and kills at the next one: before it, or after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.after = 10**9, False
        for where, name in ((os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "unlink"), (os, "open")):
            monkeypatch.setattr(where, name, self.watched(getattr(where, name)))
        remove = module._remove
        monkeypatch.setattr(module, "_remove", lambda part: self.left >= 0 and remove(part))

    def watched(self, call):
        def wrapped(*args, **kwargs):
            self.left -= 1
            if self.left < 0 and not self.after:
                raise Killed
            result = call(*args, **kwargs)
            if self.left < 0:
                raise Killed
            return result

        return wrapped


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("patience", [0, 1, 3, 7, 12, 20])
def test_killed_again_and_again(
    after: bool, patience: int, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """At each call to the system in turn, with what was written but not counted left behind."""
    output, part = tmp_path / "out", tmp_path / "out.part"
    fatal, deaths = Fatal(monkeypatch), 0
    for step in range(200):
        # As much more than the last time as it takes to get anywhere.
        fatal.left, fatal.after = patience + step, after
        try:
            work(source, output)
            break
        except Killed:
            deaths += 1
            fatal.left = 10**9
            if part.exists() and module._state_path(part).exists():
                with part.open("ab") as file:
                    file.write(b"LINE 9")
        if output.exists():  # killed after the end
            break
    assert deaths > 1
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in LINES)
    assert not part.exists()


def test_nothing_but_the_output_is_left(source: Path, tmp_path: Path):
    (tmp_path / ".out.part.lock").touch()  # as a job that was killed leaves them
    (tmp_path / ".out.part.toml.0a1b2c3d4e5f.saccade-draft").touch()
    work(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_job_that_ended_before_it_began_leaves_nothing(source: Path, tmp_path: Path):
    def stop() -> None:
        with closing(Lines([source])) as lines, open_resumable(tmp_path / "out", JOB, lines):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_where_a_job_stands_is_reported(source: Path, tmp_path: Path):
    """By a callback: the library prints nothing."""
    reports: list[str] = []

    def stop() -> None:
        with closing(Lines([source])) as lines, open_resumable(tmp_path / "out", JOB, lines, reports.append) as result:
            result.add("LINE 0\n", (next(iter(lines)), lines.mark)[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert str(tmp_path / "out.part") in reports[0]
    assert "1 lines" in reports[0]
    with pytest.raises(KeyboardInterrupt):
        stop()
    assert "Resuming after line 1" in reports[1]


def test_a_directory_that_does_not_exist_is_not_made(source: Path, tmp_path: Path):
    with pytest.raises(FileNotFoundError) as refused:
        work(source, tmp_path / "nowhere" / "out")
    assert refused.value.filename == str(tmp_path / "nowhere" / "out")
    assert not (tmp_path / "nowhere").exists()


RUN = """
import saccade.line_translation as module
module.CHUNK, module.FIRST = 12, 4
from saccade.cli.main import run
run()
"""


def test_killed_in_earnest(trained: Path, saccade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """SIGKILL to a real process, several times, at moments of chance."""
    rng = random.Random(os.getpid())
    source, output, part = tmp_path / "in", tmp_path / "out", tmp_path / "out.part"
    source.write_text("".join(f"fox dog{' cat bee' * rng.randrange(9)}\n" for _ in range(240)))
    words = ["translate", "-m", trained / "run", source, "--beam", "4"]
    monkeypatch.setattr("saccade.line_translation.CHUNK", 12)
    monkeypatch.setattr("saccade.line_translation.FIRST", 4)
    expected = saccade(*words).stdout
    sizes = [0]
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", RUN, *map(str, words), "-o", output], stderr=subprocess.PIPE)
        while process.poll() is None and (not part.exists() or part.stat().st_size <= sizes[-1]):
            time.sleep(0.002)
        time.sleep(rng.random() / 10)
        process.send_signal(signal.SIGKILL)
        assert b"Traceback" not in process.communicate()[1]
        if output.exists():
            break
        sizes.append(part.stat().st_size)
        assert expected.encode().startswith(part.read_bytes()[: sizes[-2]])
    else:
        assert saccade(*words, "-o", output).code == 0
    assert len(sizes) > 1, "it was killed at least once"
    assert output.read_text("utf-8") == expected
    assert {path.name for path in tmp_path.iterdir()} - {".out.part.lock", "out.part.toml"} == {"in", "out"}
