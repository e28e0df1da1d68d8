"""Pooling by a learned query, against loops over equations 5 to 7 (Yang et al. 2016)."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask
from torch import nn

from saccade.nn.capture import capture
from saccade.nn.hierarchical import LearnedQuery

D_STATES, D_HIDDEN = 4, 3
CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1), (1, 5), (3, 1), (3, 6)]
"""Batch, words."""


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture
def pool() -> LearnedQuery:
    torch.manual_seed(1)
    module = LearnedQuery(D_STATES, D_HIDDEN).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def pooled(pool: LearnedQuery, states: plain.Matrix, real: list[bool]) -> tuple[list[float], list[float]]:
    """u = tanh(Wh + b) (eq. 5), α = exp(uᵀu_w)/Σ (eq. 6), s = Σαh (eq. 7): s and α, zero if nothing is real."""
    inner, raised = pool.attention.score.key_map[0], []
    for state, is_real in zip(states, real, strict=True):
        u = [math.tanh(each) for each in plain.product(state, inner.weight.tolist(), inner.bias.tolist())]
        score = sum(mine * asked for mine, asked in zip(u, pool.query.tolist(), strict=True))
        raised.append(math.exp(score) if is_real else 0.0)
    total = sum(raised)
    weights = [each / total if total else 0.0 for each in raised]
    vector = [0.0] * len(states[0])
    for weight, state in zip(weights, states, strict=True):
        for place, number in enumerate(state):
            vector[place] += weight * number
    return vector, weights


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("batch", "words"), SHAPES)
def test_pooling_is_equations_5_to_7_on_both_paths(pool: LearnedQuery, batch: int, words: int, padded: bool):
    states = draw(batch, words, D_STATES)
    mask = padding_mask(torch.tensor([words, max(1, words - 2), 0][:batch]), words) if padded else None
    fused = pool(states, mask)
    with capture(pool) as heard:
        explicit = pool(states, mask)
    (weights,) = heard.weights["attention"]
    assert weights.shape == (batch, 1, 1, words)
    for row in range(batch):
        real = [True] * words if mask is None else mask[row].tolist()
        vector, expected = pooled(pool, states[row].tolist(), real)
        torch.testing.assert_close(fused[row], double(vector), **CLOSE)
        torch.testing.assert_close(explicit[row], double(vector), **CLOSE)
        torch.testing.assert_close(weights[row, 0, 0], double(expected), **CLOSE)


def test_without_a_question_it_is_the_mean(pool: LearnedQuery):
    """HN-AVE of the paper: "uninformative" query vectors."""
    nn.init.zeros_(pool.query)
    states = draw(2, 5, D_STATES)
    torch.testing.assert_close(pool(states), states.mean(dim=1), **CLOSE)


def test_order_does_not_matter(pool: LearnedQuery):
    states = draw(2, 5, D_STATES)
    torch.testing.assert_close(pool(states.flip(1)), pool(states), **CLOSE)


@pytest.mark.parametrize("listening", [False, True])
def test_nothing_to_pool_is_zero_with_finite_gradients(pool: LearnedQuery, listening: bool):
    states, mask = draw(3, 4, D_STATES).requires_grad_(), padding_mask(torch.tensor([4, 2, 0]), 4)
    if listening:
        with capture(pool) as heard:
            found = pool(states, mask)
        (weights,) = heard.weights["attention"]
        assert not weights[:, 0, 0][~mask].any()
        assert bool(weights[:, 0, 0][mask].all())
        torch.testing.assert_close(weights.sum(dim=-1).flatten(), double([1.0, 1.0, 0.0]), **CLOSE)
    else:
        found = pool(states, mask)
    assert not found[2].any()
    found.square().sum().backward()
    for given in (states, *pool.parameters()):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad.any())
    assert not states.grad[~mask].any()


def test_padding_changes_nothing(pool: LearnedQuery):
    states, mask = draw(2, 5, D_STATES), padding_mask(torch.tensor([5, 3]), 5)
    found = pool(states, mask)
    assert torch.equal(found, pool(states.masked_fill(~mask[..., None], 1e3), mask))
    torch.testing.assert_close(found[1:], pool(states[1:, :3]), **CLOSE)


@pytest.mark.parametrize("listening", [False, True])
def test_gradients_are_those_of_central_differences(pool: LearnedQuery, listening: bool):
    mask = padding_mask(torch.tensor([3, 2, 0]), 3)

    def pooling(states: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        if not listening:
            return pool(states, mask)
        with capture(pool):
            return pool(states, mask)

    assert torch.autograd.gradcheck(pooling, (draw(3, 3, D_STATES).requires_grad_(), *pool.parameters()))


def test_listening_changes_nothing_and_leaves_nothing(pool: LearnedQuery):
    states, mask = draw(2, 4, D_STATES), padding_mask(torch.tensor([4, 2]), 4)
    before = {name: set(vars(each)) for name, each in pool.named_modules()}
    quiet = pool(states, mask)
    with capture(pool) as heard:
        torch.testing.assert_close(pool(states, mask), quiet, **CLOSE)
    assert list(heard.weights) == ["attention"]
    assert {name: set(vars(each)) for name, each in pool.named_modules()} == before
