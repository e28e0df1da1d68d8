"""Through the command line: killed, damaged or out of space, a training ends as if nothing had happened."""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ended
from tests.training import crash, toy
from tests.training.crash import Moment

from saccade import Recipe
from saccade.data.prepare import Prepared
from saccade.directory import ModelDirectory
from saccade.training import checkpoint

Train = Callable[..., Ended]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crash.write_task(tmp_path_factory.mktemp("task"), updates=60)


@pytest.fixture(scope="module")
def train(recipe: Path, saccade: Callable[..., Ended]) -> Train:
    return lambda run, *words: saccade("train", recipe, "--set", f"run={run}", *words)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, train: Train) -> Path:
    """Checkpoints at 7, 14, … 56 and 60; validated at 14, 28, … 56 and 60."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    assert train(run).code == 0
    return run


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory, recipe: Path, undisturbed: Path) -> Path:
    """A run that went out at update 30; its newest checkpoints are those of 28 and 21."""
    run = tmp_path_factory.mktemp("half") / "run"
    shutil.copytree(undisturbed / "corpus", run / "corpus")
    with pytest.raises(toy.Crash):
        toy.fit(Recipe.load(recipe, [f"run={run}"]), Prepared.open(run / "corpus"), toy.Recorder(at={30: toy.crash}))
    return run


@pytest.fixture
def begun(half: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(half, tmp_path / "run"))


def test_killed_and_started_again_is_undisturbed(recipe: Path, undisturbed: Path, tmp_path: Path):
    """The short form of `python tests/training/crash.py --kills 100`."""
    moments = [Moment("checkpoint", 0.0), Moment("model", 0.001), Moment("training", 0.05, signal.SIGTERM)]
    assert crash.survive(recipe, tmp_path / "run", iter(moments)) == 2
    crash.compare(tmp_path / "run", undisturbed)


def test_killed_while_it_prepares_it_prepares_again(recipe: Path, undisturbed: Path, tmp_path: Path):
    assert crash.survive(recipe, tmp_path / "run", iter([Moment("preparing", 0.0)])) == 1
    crash.compare(tmp_path / "run", undisturbed)


def test_chance_is_the_same_again():
    """A failure found once can be found again."""
    first, again = (list(crash.by_chance(random.Random(7), 50)) for _ in range(2))
    assert first == again
    assert {moment.signal for moment in first} == {signal.SIGKILL, signal.SIGTERM, signal.SIGINT}


def cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip_a_bit(file: Path) -> None:
    damaged = np.frombuffer(file.read_bytes(), np.uint8).copy()
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged.tobytes())


@pytest.mark.parametrize(
    ("damage", "name"),
    [(cut_short, "model.safetensors"), (flip_a_bit, "optimizer.safetensors"), (cut_short, "checkpoint.json")],
)
def test_a_damaged_checkpoint_is_named(damage: Callable[[Path], None], name: str, begun: Path, train: Train):
    file = begun / "checkpoints" / "update-00000028" / name
    damage(file)
    ended = train(begun, "--set", "training.updates=22")
    assert ended.code == 0
    assert "Resuming from update 21." in ended.stderr
    (warning,) = (line for line in ended.stderr.splitlines() if line.startswith("warning"))
    assert str(file.parent) in warning
    assert file.name in warning
    assert warning.endswith("Skipping it.")


def test_only_damaged_checkpoints_are_refused(begun: Path, train: Train):
    for file in begun.glob("checkpoints/*/model.safetensors"):
        cut_short(file)
    before = crash.contents(begun / "checkpoints") | crash.contents(begun / "model")
    ended = train(begun, "--set", "training.updates=7")
    assert ended.code == 1
    assert f"error: The run in {begun} must have a sound checkpoint to go on from" in ended.stderr
    assert f"remove {begun / 'checkpoints'} to begin anew." in ended.stderr
    assert crash.contents(begun / "checkpoints") | crash.contents(begun / "model") == before
    shutil.rmtree(begun / "checkpoints")
    assert train(begun, "--set", "training.updates=7").code == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only who may mount a small disk can fill it")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill a disk but for some bytes."""
    ballast, free = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - leave))
    return ballast


@pytest.mark.parametrize("leave", [0, 4096, 20_000, 100_000], ids="{} bytes left".format)
def test_a_full_disk_loses_nothing(leave: int, begun: Path, train: Train, undisturbed: Path, small_disk: Path):
    """Whatever is the first that does not fit: the recipe, the metrics, the model or a checkpoint."""
    run = small_disk / "run"
    shutil.copytree(begun, run)
    ballast = fill(small_disk, leave)
    ended = train(run)
    assert ended.code == 1
    message = ended.stderr[ended.stderr.index("error: ") :]
    assert "No space left on device" in message
    assert message.count("\n") == 1, "one paragraph, and the last word"
    left = [path.relative_to(run) for path in run.rglob(".*")]
    assert not left
    found, damaged = checkpoint.newest(run / "checkpoints")
    assert found is not None
    assert not damaged
    assert ModelDirectory.open(run).parameters()
    ballast.unlink()
    assert train(run).code == 0
    crash.compare(run, undisturbed)
