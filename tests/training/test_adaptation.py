"""A model that starts from another stays near it, changes as LoRA says, and is resumed bit for bit."""

import os
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tests.training import toy
from tests.training.toy import Crash, Recorder, crash
from torch import nn

from saccade.data.prepare import Prepared
from saccade.data.sampler import Position
from saccade.directory import ModelDirectory
from saccade.errors import ModelError
from saccade.models.settings import ConvolutionalSettings, ModelSettings, RecurrentSettings
from saccade.parameters import merge_factors
from saccade.tasks.translation.task import TranslationTask
from saccade.training import checkpoint
from saccade.training.adaptation import LowRank, Near
from saccade.training.loop import Training
from saccade.training.run import Run
from saccade.training.settings import LoraSettings

LORA = LoraSettings(rank=2)
ADAPTER = LoraSettings(rank=2, merged=False)
WAYS: dict[str, dict[str, Any]] = {
    "near": {"pull": 5.0, "start_share": 0.5},
    "lora": {"lora": ADAPTER, "start_share": 0.25},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return toy.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Path:
    run = tmp_path_factory.mktemp("base") / "run"
    toy.fit(toy.recipe(run, prepared, updates=8, average=0), prepared)
    return run


def training(run: Path, prepared: Prepared, **settings: Any) -> Training:
    recipe = toy.recipe(run, prepared, **settings)
    return Training(Run(recipe.run, recipe), TranslationTask(recipe, prepared))


def update(trained: Training, number: int) -> None:
    batches = trained.batches(Position())
    for _ in range(number):
        trained.update(batches)


# -- close to the start --


def test_pull_moves_every_parameter_back_by_its_share():
    model = nn.Linear(3, 2)
    near = Near(model, pull=5.0, share=0.0)
    start = [parameter.detach().clone() for parameter in model.parameters()]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 1.0
    near.stepped(0.1)
    for parameter, was in zip(model.parameters(), start, strict=True):
        assert parameter.detach().numpy() == pytest.approx((was + 0.5).numpy(), abs=1e-6)
    near.stepped(100.0)
    assert all(torch.equal(parameter, was) for parameter, was in zip(model.parameters(), start, strict=True))


def test_pull_keeps_a_training_closer_to_its_start(base: Path, prepared: Prepared, tmp_path: Path):
    start, distances = ModelDirectory.open(base).parameters(), []
    for pull in (0.0, 5.0, 50.0):
        trained = training(tmp_path / "run", prepared, warm_start=base, pull=pull)
        update(trained, 6)
        found = checkpoint.parameters(trained.model)
        distances.append(sum(float(np.square(found[name] - start[name]).sum()) for name in start))
    assert distances[0] > 1.1 * distances[1] > 1.2 * distances[2] > 0


def test_a_finished_model_is_the_average_and_training_goes_on_as_it_was(base: Path, prepared: Prepared, tmp_path: Path):
    start = ModelDirectory.open(base).parameters()
    trained = training(tmp_path / "run", prepared, warm_start=base, start_share=0.25)
    update(trained, 3)
    before = {name: values.copy() for name, values in checkpoint.parameters(trained.model).items()}
    with trained.adaptation.finished():
        finished = {name: values.copy() for name, values in trained.parameters().items()}
    for name, values in finished.items():
        assert values == pytest.approx(0.25 * start[name] + 0.75 * before[name], abs=1e-6)
    assert toy.bits(checkpoint.parameters(trained.model)) == toy.bits(before)
    merged = trained.adaptation.merge(before)
    assert all(merged[name] == pytest.approx(finished[name], abs=1e-6) for name in start)


# -- LoRA --


def test_lora_begins_as_the_base(base: Path, prepared: Prepared, tmp_path: Path):
    trained = training(tmp_path / "run", prepared, warm_start=base, lora=LORA)
    trained.adaptation.restored()
    assert toy.bits(checkpoint.parameters(trained.model)) == toy.bits(ModelDirectory.open(base).parameters())


def test_factors_get_the_gradients_of_the_product():
    """Those that torch finds for start + scale · B·A."""
    torch.manual_seed(1)
    model = nn.Linear(5, 4)
    low = LowRank(model, LoraSettings(rank=3, scale=1.5), share=0.0)
    factors = low.factors["weight"]
    nn.init.normal_(factors.B)
    low.restored()
    states = torch.randn(7, 5)
    model(states).square().sum().backward()
    low.collect()
    a, b = (factor.detach().clone().requires_grad_() for factor in (factors.A, factors.B))
    product = nn.functional.linear(states, low.start["weight"] + 1.5 * b @ a, model.bias.detach())
    wanted = torch.autograd.grad(product.square().sum(), (a, b))
    assert torch.allclose(factors.A.grad, wanted[0], rtol=1e-5, atol=1e-5)
    assert torch.allclose(factors.B.grad, wanted[1], rtol=1e-5, atol=1e-5)
    assert model.bias.grad is None


def test_merged_is_unmerged():
    """One product with the merged matrix, or two narrow ones beside that with the old matrix."""
    torch.manual_seed(1)
    model = nn.Linear(6, 4, bias=False)
    low = LowRank(model, LoraSettings(rank=2, scale=2.0), share=0.0)
    factors = low.factors["weight"]
    nn.init.normal_(factors.B, std=0.1)
    low.restored()
    states = torch.randn(9, 6)
    beside = states @ low.start["weight"].t() + 2.0 * (states @ factors.A.t()) @ factors.B.t()
    assert torch.allclose(model(states), beside, atol=1e-6)
    stored = checkpoint.parameters(low.trained)
    assert sorted(stored) == ["weight.A", "weight.B"]
    assert low.merge(stored)["weight"] == pytest.approx(model.weight.detach().numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "layers", "word"),
    [
        (toy.MODEL, "all", ""),
        (toy.MODEL, "attention", "attention"),
        (toy.MODEL, "feed-forward", "feed_forward"),
        (RecurrentSettings(d_model=16), "all", ""),
        (ConvolutionalSettings(layers=1, d_model=16), "all", ""),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_what_is_frozen_does_not_move(model: ModelSettings, layers: Any, word: str, prepared: Prepared, tmp_path: Path):
    toy.fit(toy.recipe(tmp_path / "base", prepared, model=model, updates=1, validate_every=1, average=0), prepared)
    start = ModelDirectory.open(tmp_path / "base").parameters()
    lora = LoraSettings(rank=2, layers=layers)
    trained = training(tmp_path / "run", prepared, model=model, warm_start=tmp_path / "base", lora=lora)
    update(trained, 3)
    moved = {
        name for name, values in checkpoint.parameters(trained.model).items() if not np.array_equal(values, start[name])
    }
    matrices = {name for name, values in start.items() if values.ndim == 2 and "embedding" not in name}
    assert moved == {name for name in matrices if word in name}
    assert moved


def test_a_change_has_the_rank(base: Path, prepared: Prepared, tmp_path: Path):
    trained = training(tmp_path / "run", prepared, warm_start=base, lora=LORA)
    update(trained, 3)
    start = ModelDirectory.open(base).parameters()
    name = "decoder.0.cross_attention.projection.weight"
    change = checkpoint.parameters(trained.model)[name].astype(np.float64) - start[name]
    sizes = np.linalg.svd(change, compute_uv=False)
    assert sizes[1] > 1e-3
    assert sizes[2] < 1e-6


def test_checkpoints_hold_what_is_trained_only(base: Path, prepared: Prepared, tmp_path: Path):
    recipe = toy.recipe(tmp_path / "run", prepared, warm_start=base, lora=LORA, updates=2)
    toy.fit(recipe, prepared)
    newest, _ = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert newest is not None
    stored = newest.model()
    assert {name.rpartition(".")[2] for name in stored} == {"A", "B"}
    whole = ModelDirectory.open(base).parameters()
    assert sum(values.size for values in stored.values()) < 0.4 * sum(values.size for values in whole.values())
    assert set(load_file(newest.path / "optimizer.safetensors")) == {
        f"{moment}.{name}" for moment in checkpoint.MOMENTS for name in stored
    }


def test_an_adapter_is_merged_at_load(base: Path, prepared: Prepared, tmp_path: Path):
    """The same numbers as the model that is saved merged."""
    for name, lora in (("merged", LORA), ("adapter", ADAPTER)):
        settings: dict[str, Any] = {"warm_start": base, "lora": lora, "start_share": 0.25, "updates": 6}
        toy.fit(toy.recipe(tmp_path / name, prepared, **settings), prepared)
    merged, adapter = (ModelDirectory.open(tmp_path / name) for name in ("merged", "adapter"))
    assert not (adapter.path / "model.safetensors").exists()
    assert adapter.stored.stat().st_size < 0.6 * merged.stored.stat().st_size
    assert adapter.num_parameters == merged.num_parameters
    assert adapter.checksum() != merged.checksum()
    found = adapter.parameters()
    for name, values in merged.parameters().items():
        assert found[name] == pytest.approx(values, abs=1e-6)
    adapter.copy(tmp_path / "copy", "float32")
    assert toy.bits(ModelDirectory.open(tmp_path / "copy").parameters()) == toy.bits(found)


def test_factors_that_fit_nothing_are_refused():
    start = {"a": np.zeros((3, 2), np.float32)}
    good = {"a.A": np.ones((1, 2), np.float32), "a.B": np.ones((3, 1), np.float32)}
    assert merge_factors(start, good, 2.0, origin="x")["a"].tolist() == [[2.0, 2.0]] * 3
    for bad in ({"a.A": good["a.A"]}, good | {"a.B": np.ones((2, 1), np.float32)}, {"b.A": good["a.A"]}):
        with pytest.raises(ModelError, match="The parameters of x must fit"):
            merge_factors(start, bad, 2.0, origin="x")


# -- resumed --


@pytest.mark.parametrize("way", WAYS)
def test_stopped_and_resumed_is_uninterrupted(way: str, base: Path, prepared: Prepared, tmp_path: Path):
    """Killed between checkpoints, then interrupted."""
    interrupt: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGINT)  # noqa: E731
    for name, stops in (("whole", []), ("stopped", [(5, crash), (7, interrupt)])):
        often = {"updates": 9, "validate_every": 6, "checkpoint_every": 3}
        recipe = toy.recipe(tmp_path / name, prepared, warm_start=base, **often, **WAYS[way])
        for at, act in stops:
            try:
                assert toy.fit(recipe, prepared, Recorder(at={at: act})).interrupted
            except Crash:
                assert act is crash
        assert not toy.fit(recipe, prepared).interrupted
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")


def outcome(run: Path) -> dict[str, Any]:
    newest, _ = checkpoint.newest(run / "checkpoints")
    assert newest is not None
    directory = ModelDirectory.open(run)
    return {
        "trained": toy.bits(newest.model()),
        "stored": toy.bits(load_file(directory.stored)),
        "metrics": toy.metrics(run),
        "update": newest.progress.update,
    }


def test_threads_learn_the_same(base: Path, prepared: Prepared, tmp_path: Path):
    """Of a model with frozen parameters."""
    found = []
    for number in (1, 2):
        trained = training(tmp_path / "run", prepared, model=toy.QUIET, warm_start=base, lora=LORA, threads=number)
        batch = next(iter(islice(trained.batches(Position()), 1)))
        trained.update(iter([batch]))
        found.append(checkpoint.parameters(trained.adaptation.trained))
        found[-1] = {name: values.copy() for name, values in found[-1].items()}
    torch.set_num_threads(1)
    for name, values in found[0].items():
        assert values == pytest.approx(found[1][name], abs=1e-5)
