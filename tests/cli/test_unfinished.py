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

from saccade.cli import unfinished as module
from saccade.cli.unfinished import Job, unfinished
from saccade.text.formats.stream import Lines

JOB = Job(model="that one")
LINES = [f"line {number}" for number in range(20)]


class Killed(BaseException):
    """What comes instead of SIGKILL: nothing of ours runs after it."""


def work(source: Path, output: Path) -> None:
    """Turns lines into capitals, three at a time."""
    with closing(Lines([source])) as lines, unfinished(output, JOB, lines) as result:
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
            if part.exists() and module._state_of(part).exists():
                with part.open("ab") as file:
                    file.write(b"LINE 9")
        if output.exists():  # killed after the end
            break
    assert deaths > 1
    assert output.read_text() == "".join(f"{line.upper()}\n" for line in LINES)
    assert not part.exists()


def test_nothing_but_the_output_is_left(source: Path, tmp_path: Path):
    work(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_a_job_that_ended_before_it_began_leaves_nothing(source: Path, tmp_path: Path):
    def stop() -> None:
        with closing(Lines([source])) as lines, unfinished(tmp_path / "out", JOB, lines):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


RUN = """
import saccade.cli.translate as module
module.CHUNK, module.FIRST = 12, 4
from saccade.cli.main import run
run()
"""


def test_killed_in_earnest(model: Path, saccade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """SIGKILL to a real process, several times, at moments of chance."""
    rng = random.Random(os.getpid())
    source, output, part = tmp_path / "in", tmp_path / "out", tmp_path / "out.part"
    source.write_text("".join(f"A dog runs {'. Ein Hund' * rng.randrange(9)}{number}.\n" for number in range(240)))
    words = ["translate", "-m", model, source, "--beam", "4"]
    monkeypatch.setattr("saccade.cli.translate.CHUNK", 12)
    monkeypatch.setattr("saccade.cli.translate.FIRST", 4)
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
    assert sorted(path.name for path in tmp_path.iterdir()) in (["in", "out"], ["in", "out", "out.part.toml"])
