"""The lesson of points: trained, resumed, measured and shown like every other."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from saccade.data.sampler import Position
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.settings import PointerSettings, PointsSettings
from saccade.tasks.pointing.task import PointingTask

TASKS = ["sort", "hull", "tour"]
RECIPE = """\
run = "run"
[task]
kind = "hull"
batch = 8
smallest = 3
largest = 5
test_sizes = [3, 6]
[model]
kind = "pointer"
d_model = 16
[training]
updates = {updates}
learning_rate = 0.01
warmup = 5
validate_every = 10
checkpoint_every = 10
average = 0
[search]
beam = 2
"""


def lesson(kind="sort", **model: object) -> PointingTask:
    task = PointsSettings(kind=kind, batch=16, smallest=3, largest=5, test_sizes=(3, 6))
    return PointingTask(task, PointerSettings(d_model=16, **model), SearchSettings(beam=1))


def recipe(directory: Path, updates: int) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "recipe.toml").write_text(RECIPE.format(updates=updates), encoding="utf-8")
    return directory / "recipe.toml"


def test_points_are_trained_resumed_measured_and_shown(saccade: Callable[..., object], tmp_path: Path):
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    assert saccade("train", recipe(whole, 20)).code == 0
    assert saccade("train", recipe(halved, 10)).code == 0
    assert saccade("train", recipe(halved, 20)).code == 0
    ours, theirs = (load_file(each / "run/checkpoints/update-00000020/model.safetensors") for each in (whole, halved))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)

    assert 'kind = "hull"' in saccade("info", whole / "run").stdout
    figures = json.loads(saccade("evaluate", "--model", whole / "run", "--json").stdout)
    assert {"loss", "exact match", "exact match of 6", "area of 6", "invalid of 3"} <= set(figures)
    words = ["view", "--model", whole / "run", "0.1,0.1 0.9,0.2 0.5,0.8", "-o", tmp_path / "a.svg"]
    assert saccade(*words).code == 0
    assert "(0.90, 0.20)" in (tmp_path / "a.svg").read_text("utf-8")


def test_batches_are_a_function_of_seed_and_number():
    first, again, other = (next(iter(lesson().batches(Position(0, at), 0, 1))).batch for at in (3, 3, 4))
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.target, again.target)
    assert first.points.shape != other.points.shape or not torch.equal(first.points, other.points)


@pytest.mark.parametrize("kind", TASKS)
def test_what_is_shown_is_where_each_step_points(kind):
    taught = lesson(kind)
    torch.manual_seed(1)
    (trace,) = taught.show(taught.build(), None)
    (layer,) = trace.layers
    assert layer.weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
    assert trace.source.tokens[-1] == trace.target.tokens[-1] == "</s>"
    assert set(trace.target.tokens) <= set(trace.source.tokens)
    assert trace.log_prob == pytest.approx(sum(trace.token_log_probs))
    for token, weights, log_prob in zip(trace.target.tokens, layer.weights[0], trace.token_log_probs, strict=True):
        assert np.log(weights[trace.source.tokens.index(token)]) == pytest.approx(log_prob, abs=1e-4)


def test_an_index_softmax_shows_what_it_reads():
    taught = lesson(output="index", num_positions=6)
    (trace,) = taught.show(taught.build(), "0.3 0.1 0.2")
    assert trace.source.tokens == ("0.30", "0.10", "0.20", "</s>")
    assert trace.layers[0].weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "names"), [("sort", set()), ("hull", {"area", "invalid"}), ("tour", {"length", "invalid"})]
)
def test_every_size_has_its_figures(kind, names: set[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.tasks.pointing.task.NUM_TESTED", 20)
    taught = lesson(kind, choices="all" if kind == "tour" else "once")
    figures = taught.evaluate(taught.build())
    sizes = {f"{name} of {size}" for name in {"exact match", *names} for size in (3, 6)}
    assert set(figures) == {"loss", "exact match"} | sizes
    if kind == "tour":
        assert figures["invalid of 6"] == 0.0
        assert figures["length of 6"] > 1.0
        assert figures["length of 3"] == pytest.approx(1.0), "three points have one tour"


def test_a_sample_is_a_set_and_its_answer():
    taught = lesson(choices="all")
    torch.manual_seed(1)
    given, answered = taught.sample(taught.build(), next(taught.fixed(1, 1)))
    assert sorted(given.split()) == sorted(answered.split())
