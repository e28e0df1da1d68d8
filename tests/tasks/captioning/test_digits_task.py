"""The task of digits: its scenes, what is measured and what is shown."""

import numpy as np
import pytest
import torch

from saccade.data.sampler import Position
from saccade.errors import DataError
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.digits import EASY, DigitsTask, mass
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.tasks.generated import TEST, TRAIN


def lesson(task: DigitsSettings | None = None, **model: object) -> DigitsTask:
    settings = CaptionerSettings(**{"encoder": "residual", "d_model": 16, "dropout": 0.0} | model)  # type: ignore[arg-type]
    return DigitsTask(task or DigitsSettings(batch=8), settings, SearchSettings())


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
