"""Checkpoints are whole or refused, and the newest whole one is found."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training import toy

from saccade import files
from saccade.data.sampler import Position
from saccade.errors import CheckpointError, ModelError
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint, Progress, Snapshot
from saccade.training.settings import TrainingSettings

FILES = ("model.safetensors", "optimizer.safetensors", "checkpoint.json")
PROGRESS = Progress("abc", update=20, position=Position(3, 7), tokens=1234, seconds=5.25, best=-0.1, best_update=15)


def trained(seed: int = 1) -> tuple[Model, torch.optim.Optimizer]:
    """A tiny model after an update, so that the optimizer has something to remember."""
    torch.manual_seed(seed)
    model = build(TransformerSettings(layers=1, d_model=4, d_feedforward=4, num_heads=1), 6, 6)
    optimizer = torch.optim.Adam(model.parameters())
    sum(parameter.square().sum() for parameter in model.parameters()).backward()
    optimizer.step()
    return model, optimizer


def save(path: Path, update: int = 20, seed: int = 1) -> Checkpoint:
    return checkpoint.write(path, snapshot(update, seed))


def snapshot(update: int = 20, seed: int = 1, **progress: Any) -> Snapshot:
    return checkpoint.snapshot(*trained(seed), replace(PROGRESS, update=update, **progress))


def updates(directory: Path) -> list[int]:
    return [int(path.name.removeprefix("update-")) for path in checkpoint.every(directory)]


def test_saved_and_restored_is_the_same(tmp_path: Path):
    saved = save(tmp_path)
    assert saved.path == tmp_path / "update-00000020"
    assert {file.name for file in saved.path.iterdir()} == set(FILES)
    found = checkpoint.check(saved.path)
    assert found == saved
    assert found.progress == PROGRESS

    (model, optimizer), (other, other_optimizer) = trained(seed=1), trained(seed=2)
    found.restore(other, other_optimizer)
    for own, restored in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(own, restored)
        for moment in ("exp_avg", "exp_avg_sq"):
            assert torch.equal(optimizer.state[own][moment], other_optimizer.state[restored][moment])
        assert other_optimizer.state[restored]["step"].item() == 20


def test_a_snapshot_does_not_change_with_the_model():
    model, optimizer = trained()
    taken, before = checkpoint.snapshot(model, optimizer, PROGRESS), snapshot()
    optimizer.step()
    for file, arrays in taken.files.items():
        assert toy.bits(arrays) == toy.bits(before.files[file])


def test_adam_counts_the_updates_that_were_not_skipped(tmp_path: Path):
    saved = checkpoint.write(tmp_path, snapshot(20, skipped=3))
    model, optimizer = trained()
    checkpoint.check(saved.path).restore(model, optimizer)
    assert {state["step"].item() for state in optimizer.state.values()} == {17.0}


def test_a_checkpoint_of_an_older_version_is_read():
    """Written before there were `worth` and `skipped`."""
    found = checkpoint.check(Path(__file__).parent / "stored" / "update-00000020")
    assert found.progress == PROGRESS
    assert (found.progress.worth, found.progress.skipped) == (None, 0)
    (model, optimizer), (expected, _) = trained(seed=2), trained(seed=1)
    found.restore(model, optimizer)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), expected.parameters(), strict=True))
    assert {state["step"].item() for state in optimizer.state.values()} == {20.0}


def test_tied_parameters_are_saved_once(tmp_path: Path):
    assert [name for name in save(tmp_path).model() if "embedding" in name] == ["target_embedding.weight"]


def test_a_checkpoint_takes_the_place_of_one_of_the_same_update(tmp_path: Path):
    save(tmp_path, seed=1)
    save(tmp_path, seed=2)
    assert checkpoint.every(tmp_path) == [tmp_path / "update-00000020"]
    (found, _), (model, _) = checkpoint.newest(tmp_path), trained(seed=2)
    assert found is not None
    assert np.array_equal(found.model()["target_embedding.weight"], model.target_embedding.weight.detach())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_cut_short_is_found_out(tmp_path: Path, name: str, share: float):
    file = save(tmp_path).path / name
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match=r"update-00000020.*(cut short or damaged|whole checkpoint)"):
        checkpoint.check(file.parent)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_found_out(tmp_path: Path, name: str):
    path = save(tmp_path).path
    (path / name).unlink()
    with pytest.raises(CheckpointError, match="update-00000020"):
        checkpoint.check(path)


@pytest.mark.parametrize("name", FILES)
def test_a_single_flipped_bit_is_found_out_or_harmless(tmp_path: Path, name: str):
    """Harmless are 1e-9 written 1E-9 and the like, where the progress read is the same."""
    saved = save(tmp_path)
    file = saved.path / name
    whole = file.read_bytes()
    count = 600 if name == "checkpoint.json" else 30
    for bit in np.random.default_rng(1).choice(8 * len(whole), count, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        found, refused = checkpoint.newest(tmp_path)
        assert found == (None if refused else saved)
        assert refused or name == "checkpoint.json"


@pytest.mark.parametrize("text", ["[]", "3", '{"format": 1}', '{"format": 1, "sha256": [], "progress": {}}', ""])
def test_nonsense_is_no_checkpoint(tmp_path: Path, text: str):
    path = save(tmp_path).path
    (path / "checkpoint.json").write_text(text)
    with pytest.raises(CheckpointError, match="must be a whole checkpoint"):
        checkpoint.check(path)


def test_another_format_is_named(tmp_path: Path):
    path = save(tmp_path).path
    text = (path / "checkpoint.json").read_text()
    (path / "checkpoint.json").write_text(text.replace('"format": 1', '"format": 99'))
    with pytest.raises(CheckpointError, match="has format 99, but this saccade reads format 1"):
        checkpoint.check(path)


def test_the_newest_sound_checkpoint_is_found_and_the_damaged_are_named(tmp_path: Path):
    for update in (10, 20, 30, 100):
        save(tmp_path, update)
    (tmp_path / "update-00000100/model.safetensors").write_bytes(b"")
    (tmp_path / "update-00000030/checkpoint.json").unlink()
    found, damaged = checkpoint.newest(tmp_path)
    assert found is not None
    assert found.progress.update == 20
    assert [name in str(error) for name, error in zip(("-00000100", "-00000030"), damaged, strict=True)] == [True] * 2


def test_there_may_be_none(tmp_path: Path):
    assert checkpoint.newest(tmp_path / "missing") == (None, [])


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    save(tmp_path, seed=1)

    def fail(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "sync", fail)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, seed=2)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, update=30)
    assert [path.name for path in tmp_path.iterdir()] == ["update-00000020"]
    assert toy.bits(checkpoint.check(tmp_path / "update-00000020").model()) == toy.bits(snapshot().files[FILES[0]])


def test_what_bears_another_name_is_no_checkpoint(tmp_path: Path):
    for name in (".update-00000040.1a2b3c4d", "update-00000020.bak", "update-"):
        (tmp_path / name).mkdir()
    assert checkpoint.every(tmp_path) == []


def kept(directory: Path, *saved: int, written: int | None = None, **settings: Any) -> list[int]:
    """Which of these checkpoints stay once the last was written, with one at every ten updates."""
    for update in saved:
        worths = {20: 5.0, 30: 7.0, 40: 6.0, 50: 5.0}  # those after 50 have a worth too, but it is that of update 55
        progress = (
            {"worth": worths.get(update), "validated": update} if update <= 50 else {"worth": 9.0, "validated": 55}
        )
        checkpoint.write(directory, snapshot(update, **progress))
    policy = TrainingSettings(checkpoint_every=10, **{"average": 0, "keep_best": 0, **settings})
    checkpoint.prune(directory, directory / f"update-{written or saved[-1]:08d}", policy)
    assert [path for path in directory.iterdir() if path.name.startswith(".")] == []
    return updates(directory)


def test_the_newest_are_kept(tmp_path: Path):
    assert kept(tmp_path, 10, 20, 30, 40, keep=2) == [40, 30]
    assert kept(tmp_path, 50, keep=1) == [50]


def test_those_that_will_be_averaged_are_kept(tmp_path: Path):
    assert kept(tmp_path, 10, 20, 30, 40, 50, keep=1, average=3) == [50, 40, 30]


def test_the_best_are_kept_of_those_that_were_validated(tmp_path: Path):
    """20 and 50 are equal: the later one is better."""
    found = kept(tmp_path, 10, 20, 30, 40, 50, 60, keep=1, keep_best=3)
    assert found == [60, 50, 40, 30]
    assert kept(tmp_path, 70, keep=1, keep_best=1) == [70, 30]


def test_every_so_many_are_kept_for_ever(tmp_path: Path):
    assert kept(tmp_path, *range(10, 90, 10), keep=1, keep_every=30) == [80, 60, 30]


def test_one_left_by_an_interrupt_goes_when_a_newer_one_stands(tmp_path: Path):
    assert kept(tmp_path, 10, 20, 30, 34, keep=3) == [34, 30, 20]
    assert [found.progress.update for found in checkpoint.last(tmp_path, 2, spacing=10)] == [34, 30]
    save(tmp_path, 40)
    last = checkpoint.last(tmp_path, 3, spacing=10)
    assert [found.progress.update for found in last] == [40, 30, 20], "also if it was killed before it could prune"
    assert kept(tmp_path, 40, keep=3) == [40, 30, 20]


def test_what_is_damaged_never_takes_the_place_of_a_sound_one(tmp_path: Path):
    """40 was passed over; the run went on from 20 and came to 30."""
    for update in (10, 20, 40):
        save(tmp_path, update)
    (tmp_path / "update-00000040" / "model.safetensors").unlink()
    assert kept(tmp_path, 30, keep=1) == [30]


def test_what_was_averaged_leaves_out_the_damaged(tmp_path: Path):
    for update in (10, 20, 30, 40):
        save(tmp_path, update)
    (tmp_path / "update-00000030" / "model.safetensors").unlink()
    assert [found.progress.update for found in checkpoint.last(tmp_path, 3, spacing=10)] == [40, 20]


@pytest.mark.parametrize("update", [20, 30], ids=["in place of one of the same update", "new"])
def test_killed_at_any_moment_of_a_write_there_is_a_sound_checkpoint(update: int, tmp_path: Path):
    """A process is killed before the first change that it makes to the disk, before the second, … until it ends."""
    policy = TrainingSettings(checkpoint_every=10, keep=1, average=0, keep_best=0)
    prior, later = snapshot(20, seed=1), snapshot(update, seed=2)
    for number in count(1):
        run = tmp_path / f"{number}"
        checkpoint.write(run, prior)
        ended = killed_at(number, lambda run=run: checkpoint.prune(run, checkpoint.write(run, later).path, policy))
        files.recover_all(run)
        found, damaged = checkpoint.newest(run)
        assert found is not None
        assert not damaged
        seen = toy.bits(found.model())
        assert seen in [toy.bits(each.files[FILES[0]]) for each in (prior, later)]
        assert {path.name for path in run.iterdir()} <= {"update-00000020", f"update-{update:08d}"}
        assert all(checkpoint.check(path) for path in checkpoint.every(run)), "none is half removed"
        if ended:
            assert seen == toy.bits(later.files[FILES[0]])
            assert updates(run) == [update]
            break
    assert number > 8, "so many changes are seen at least"


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Do some work in a process that is killed before it changes the disk for the so-many-th time; True if it ends."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    changes = count(1)

    def watch(event: str, args: tuple[Any, ...]) -> None:
        changing = event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate") or (
            event == "open" and args[2] & os.O_ACCMODE != os.O_RDONLY
        )
        if changing and next(changes) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(watch)
        work()
        os._exit(0)
    finally:
        os._exit(1)


def test_the_average_is_the_mean(tmp_path: Path):
    saved = [save(tmp_path, update=seed, seed=seed) for seed in (1, 2, 3)]
    found = checkpoint.average(saved)
    values = [dict(trained(seed)[0].named_parameters()) for seed in (1, 2, 3)]
    assert found.keys() == values[0].keys()
    for name, mean in found.items():
        expected = sum(each[name].detach().double() for each in values) / 3
        assert mean.dtype == np.float32
        np.testing.assert_allclose(mean, expected.numpy(), rtol=1e-6)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path):
    saved = save(tmp_path)
    other = build(TransformerSettings(layers=1, d_model=8, d_feedforward=4, num_heads=1), 6, 6)
    with pytest.raises(ModelError, match=r"norm.bias must have shape \(8,\), not \(4,\)"):
        saved.restore(other, torch.optim.Adam(other.parameters()))
