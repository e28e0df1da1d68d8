"""Threads learn from parts of a batch what one learns from the whole, and always the same."""

import numpy as np
import pytest
import torch
from torch import Tensor

from saccade.data.batch import Batch, collate
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.nn import dropout
from saccade.training.loss import smoothed_loss_chunked
from saccade.training.threads import Threads

VOCABULARY = 50


def model_with(rate: float) -> Model:
    torch.manual_seed(1)
    settings = TransformerSettings(
        layers=2, d_model=16, d_feedforward=32, num_heads=2, dropout=rate, attention_dropout=rate
    )
    return build(settings, VOCABULARY, VOCABULARY).train()


def batch_of(rows: int) -> Batch:
    rng = np.random.default_rng(rows)
    sources, targets = ([rng.integers(4, VOCABULARY, n) for n in rng.integers(1, 9, rows)] for _ in range(2))
    return collate(sources, targets)


def loss_of(model: Model):
    def loss(batch: Batch) -> tuple[Tensor, Tensor]:
        mask = batch.target_mask
        total = smoothed_loss_chunked(model(batch)[mask], model.output_weight, batch.target[mask], 0.1)
        return total, total.detach()

    return loss


def gradients(model: Model) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("number", [2, 3])
def test_parts_learn_what_the_whole_does(number: int, rows: int):
    """Without dropout; the loss is a sum, so its parts add up."""
    batch = batch_of(rows)
    model = model_with(0.0)
    whole, _ = loss_of(model)(batch)
    (whole / 10).backward()
    wanted = gradients(model)
    model.zero_grad()
    loss = Threads(number).learn(loss_of(model), batch, list(model.parameters()), 1 / 10, 1)
    assert loss == pytest.approx(whole.item(), rel=1e-5)
    for found, expected in zip(gradients(model), wanted, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_the_same_seed_gives_the_same_bits_whoever_comes_first():
    batch = batch_of(24)
    model = model_with(0.3)
    threads = Threads(3)

    def learned(*seed: int) -> list[Tensor]:
        model.zero_grad()
        threads.learn(loss_of(model), batch, list(model.parameters()), 1.0, *seed)
        return gradients(model)

    first = learned(1, 5)
    for _ in range(10):
        assert all(torch.equal(one, two) for one, two in zip(first, learned(1, 5), strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(first, learned(1, 6), strict=True) if two.any())


def test_no_two_parts_share_their_dropout():
    model = model_with(0.5)
    drawn: dict[int, Tensor] = {}

    def loss(batch: Batch) -> tuple[Tensor, Tensor]:
        drawn[int(batch.source[0, 0])] = dropout.Dropout(0.5)(torch.ones(64))
        total = model(batch).sum()
        return total, total.detach()

    rows = [[number] for number in range(4, 8)]
    Threads(4).learn(loss, collate(rows, rows), list(model.parameters()), 1.0, 1)
    assert len(drawn) == 4
    assert len({tuple(kept.tolist()) for kept in drawn.values()}) == 4


def test_gradients_are_added_to_those_that_are_there():
    model, batch = model_with(0.0), batch_of(4)
    threads = Threads(2)
    threads.learn(loss_of(model), batch, list(model.parameters()), 1.0, 1)
    once = gradients(model)
    threads.learn(loss_of(model), batch, list(model.parameters()), 1.0, 1)
    for twice, one in zip(gradients(model), once, strict=True):
        torch.testing.assert_close(twice, 2 * one)


def test_an_error_in_a_thread_is_an_error():
    model = model_with(0.0)

    def loss(batch: Batch) -> tuple[Tensor, Tensor]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Threads(2).learn(loss, batch_of(4), list(model.parameters()), 1.0, 1)
