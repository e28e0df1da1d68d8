"""The lesson of digits: trained, resumed, measured and shown like every task; and really learned."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from saccade.data.sampler import Position
from saccade.errors import DataError
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.digits import EASY, DigitsTask, mass
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.tasks.generated import TEST, TRAIN

RECIPE = """\
run = "run"
[task]
kind = "digits"
batch = 8
[model]
kind = "captioner"
encoder = "residual"
attention = "{attention}"
d_model = 16
dropout = 0.1
[training]
updates = {updates}
learning_rate = 0.01
warmup = 2
validate_every = 3
checkpoint_every = 3
average = 0
"""


def lesson(task: DigitsSettings | None = None, **model: object) -> DigitsTask:
    settings = CaptionerSettings(**{"encoder": "residual", "d_model": 16, "dropout": 0.0} | model)  # type: ignore[arg-type]
    return DigitsTask(task or DigitsSettings(batch=8), settings, SearchSettings())


def recipe(directory: Path, updates: int, attention: str = "hard") -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "recipe.toml").write_text(RECIPE.format(updates=updates, attention=attention), encoding="utf-8")
    return directory / "recipe.toml"


def test_hard_attention_is_trained_resumed_measured_and_shown(saccade: Callable[..., object], tmp_path: Path):
    """Its baseline and its choices go on where they were."""
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    for path, updates in ((whole, 6), (halved, 3), (halved, 6)):
        ended = saccade("train", recipe(path, updates))
        assert ended.code == 0, ended.stderr
    ours, theirs = (load_file(each / "run/checkpoints/update-00000006/model.safetensors") for each in (whole, halved))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)

    figures = json.loads(saccade("evaluate", "--model", whole / "run", "--json").stdout)
    assert set(figures) == {"loss", "sequence accuracy", "attention on the digit"}
    assert saccade("view", "--model", whole / "run", "3", "-o", tmp_path / "a.html").code == 0
    assert "data:image/png;base64," in (tmp_path / "a.html").read_text("utf-8")


def test_test_scenes_are_not_those_of_training():
    taught = lesson()
    train, test = (next(iter(taught.fixed(stream, 1))) for stream in (TRAIN, TEST))
    again = next(iter(lesson().fixed(TEST, 1)))
    assert torch.equal(test.images, again.images)
    assert not torch.equal(train.images, test.images)


def test_training_begins_with_easy_scenes():
    taught = lesson(DigitsSettings(batch=8, easy=2, fewest=3))
    counts = [[batch.num_digits for batch in taught.fixed(stream, 3)] for stream in (TRAIN, TEST)]
    assert counts == [[8, 8, 24], [24, 24, 24]]
    assert [batch.images.shape[-1] for batch in taught.fixed(TRAIN, 3)] == [EASY, EASY, 40]
    loaded = next(iter(taught.batches(Position(0, 1), rank=0, world=1)))
    assert loaded.batch.num_digits == 8


def test_a_scene_is_asked_for_by_its_number():
    taught = lesson()
    model = taught.build()
    first, other = taught.show(model, None)[0], taught.show(model, "1")[0]
    assert (first.image.rows, first.image.columns) == (10, 10)
    assert first.image != other.image
    assert first.kinds == ("image",)
    with pytest.raises(DataError) as caught:
        taught.show(model, "a dog")
    assert "number" in str(caught.value)
    assert "'a dog'" in str(caught.value)


def test_attention_on_the_digit_is_measured_on_test_scenes():
    taught = lesson()
    model = taught.build()
    shares = [mass(model, batch) for batch in taught.fixed(TEST, taught.num_test)]
    assert taught.evaluate(model)["attention on the digit"] == pytest.approx(np.mean(shares))
    assert "attention on the digit" not in lesson(attention="mean").evaluate(lesson(attention="mean").build())
