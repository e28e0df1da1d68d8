"""Checkpoints are written while the training goes on, and what keeps one from being written ends the training."""

import threading
import time
from pathlib import Path

import pytest
from tests.training import toy
from tests.training.test_checkpoint import snapshot, updates
from tests.training.toy import Crash, Recorder

from saccade import files
from saccade.errors import CheckpointError
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint, CheckpointWriter, Snapshot
from saccade.training.settings import TrainingSettings

SETTINGS = TrainingSettings(checkpoint_every=10, keep=2, average=0, keep_best=0)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing is written until this is set."""
    may_write, write = threading.Event(), checkpoint.write

    def wait(path: Path, given: Snapshot) -> Checkpoint:
        may_write.wait()
        return write(path, given)

    monkeypatch.setattr(checkpoint, "write", wait)
    return may_write


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "sync", fail)


def test_nobody_waits_for_a_checkpoint_but_who_must(tmp_path: Path, held: threading.Event):
    writer = CheckpointWriter(tmp_path, SETTINGS)
    writer.start(snapshot(10))
    writer.check()
    assert updates(tmp_path) == []
    held.set()
    writer.join()
    assert updates(tmp_path) == [10]
    for update in (20, 30):
        writer.start(snapshot(update))
    writer.join()
    assert updates(tmp_path) == [30, 20]


def test_at_its_end_all_is_written(tmp_path: Path, held: threading.Event):
    with CheckpointWriter(tmp_path, SETTINGS) as writer:
        writer.start(snapshot(10))
        threading.Timer(0.05, held.set).start()
    assert updates(tmp_path) == [10]


def test_so_it_is_when_the_training_fails(tmp_path: Path, held: threading.Event):
    def failing() -> None:
        with CheckpointWriter(tmp_path, SETTINGS) as writer:
            writer.start(snapshot(10))
            threading.Timer(0.05, held.set).start()
            raise Crash

    with pytest.raises(Crash):
        failing()
    assert updates(tmp_path) == [10]


def ask_on(writer: CheckpointWriter) -> None:
    for _ in range(10_000):
        time.sleep(0.001)
        writer.check()


OCCASIONS = {
    "check": ask_on,
    "join": CheckpointWriter.join,
    "start": lambda writer: writer.start(snapshot(30)),
    "end": id,
}


@pytest.mark.parametrize("occasion", OCCASIONS)
def test_what_goes_wrong_is_told_at_the_next_occasion(occasion: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = checkpoint.write(tmp_path, snapshot(10))
    fill_disk(monkeypatch)

    def failing() -> None:
        with CheckpointWriter(tmp_path, SETTINGS) as writer:
            writer.start(snapshot(20))
            OCCASIONS[occasion](writer)

    with pytest.raises(CheckpointError, match=r"of update 20 cannot be written.*: No space left on device\. Check"):
        failing()
    assert [path.name for path in tmp_path.iterdir()] == ["update-00000010"]
    assert checkpoint.check(before.path) == before


def test_a_full_disk_ends_a_training_before_the_next_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    prepared = toy.prepared(tmp_path / "corpus")
    recipe = toy.recipe(tmp_path / "run", prepared, updates=400, checkpoint_every=100, validate_every=400)
    filled = Recorder(at={150: lambda: fill_disk(monkeypatch)})
    with pytest.raises(CheckpointError, match="The checkpoint of update 200"):
        toy.fit(recipe, prepared, filled)
    assert max(filled.losses) < 300
    assert updates(recipe.run / "checkpoints") == [100]
