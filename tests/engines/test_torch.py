"""What the torch engine refuses, and how it batches; what it computes is in the contracts."""

import re

import numpy as np
import pytest
import torch

from saccade.engines.torch import _by_length, fill
from saccade.errors import ModelError
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.training.checkpoint import parameters


@pytest.fixture
def model() -> Model:
    return build(TransformerSettings(layers=1, d_model=4, d_feedforward=4, num_heads=1), 6, 6)


def test_parameters_are_copied_in(model: Model):
    given = {name: np.full_like(values, 0.5) for name, values in parameters(model).items()}
    fill(model, given, origin="here")
    assert all(bool((parameter == 0.5).all()) for parameter in model.parameters())
    given["target_embedding.weight"][:] = 9
    assert bool((model.target_embedding.weight == 0.5).all()), "they are the model's own"


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("target_embedding.weight", None, "target_embedding.weight is missing"),
        ("target_embedding.wait", np.zeros(3, np.float32), "target_embedding.wait is not a parameter of this model"),
        (
            "target_embedding.weight",
            np.zeros((7, 4), np.float32),
            "target_embedding.weight must have shape (6, 4), not (7, 4)",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(model: Model, name: str, values: np.ndarray | None, problem: str):
    given = parameters(model) | {name: values}
    before = model.decoder[0].feed_forward.widen.weight.clone()
    given["decoder.0.feed_forward.widen.weight"] = np.zeros((4, 4), np.float32)
    message = f"The parameters of runs/old must fit its settings and vocabulary, but {problem}."
    with pytest.raises(ModelError, match=re.escape(message)):
        fill(model, {name: values for name, values in given.items() if values is not None}, origin="runs/old")
    assert torch.equal(model.decoder[0].feed_forward.widen.weight, before), "nothing was copied"


def test_many_problems_are_counted(model: Model):
    with pytest.raises(ModelError, match=r"; and 26 more\. Its files"):
        fill(model, {}, origin="runs/old")


def test_batches_hold_every_row_once_the_longest_first():
    lengths = [3, 9, 0, 4, 9, 30, 1]
    batches = list(_by_length(lengths, batch_tokens=20))
    assert sorted(row for rows in batches for row in rows) == list(range(7))
    assert batches[0] == [5], "longer than a batch, it has one of its own"
    assert all(len(rows) == 1 or len(rows) * (lengths[rows[0]] + 1) <= 20 for rows in batches)
    assert [lengths[row] for rows in batches for row in rows] == sorted(lengths, reverse=True)
