"""Checkpoints are whole or refused, and the newest whole one is found."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data.sampler import Position
from saccade.errors import CheckpointError, ModelError
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.training import checkpoint
from saccade.training.checkpoint import Checkpoint, Progress

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


def save(directory: Path, update: int = 20, seed: int = 1) -> Checkpoint:
    return checkpoint.save(directory, *trained(seed), replace(PROGRESS, update=update))


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


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "sync", fail)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_an_interrupted_write_left_is_pruned_with_the_oldest(tmp_path: Path):
    for update in (10, 20, 30):
        save(tmp_path, update)
    (tmp_path / ".update-00000040.1a2b3c4d").mkdir()
    assert checkpoint.newest(tmp_path)[0].progress.update == 30, "what has no name yet is not a checkpoint"
    checkpoint.prune(tmp_path, 2, spacing=10)
    assert {path.name for path in tmp_path.iterdir()} == {"update-00000020", "update-00000030"}


def test_one_left_by_an_interrupt_goes_when_a_newer_one_stands(tmp_path: Path):
    for update in (10, 20, 30, 34):
        save(tmp_path, update)
    checkpoint.prune(tmp_path, 3, spacing=10)
    assert [path.name[-2:] for path in checkpoint.every(tmp_path)] == ["34", "30", "20"]
    save(tmp_path, 40)
    checkpoint.prune(tmp_path, 3, spacing=10)
    assert [path.name[-2:] for path in checkpoint.every(tmp_path)] == ["40", "30", "20"]
    checkpoint.prune(tmp_path, 1, spacing=10)
    assert [path.name[-2:] for path in checkpoint.every(tmp_path)] == ["40"]


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
