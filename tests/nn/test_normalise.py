"""From scores to weights, against plain loops: sparsemax by its closed form, 1.5-entmax by halving its threshold."""

import math
from collections.abc import Callable

import pytest
import torch
from tests.nn import plain

from saccade.nn.normalise import Normalise, masked_entmax, masked_softmax, masked_sparsemax

CLOSE = {"rtol": 0.0, "atol": 1e-10}
EVERY: dict[str, tuple[Normalise, Callable[..., list[float]]]] = {
    "softmax": (masked_softmax, plain.softmax),
    "sparsemax": (masked_sparsemax, plain.sparsemax),
    "entmax": (masked_entmax, plain.entmax),
}


@pytest.fixture(params=EVERY)
def both(request: pytest.FixtureRequest) -> tuple[Normalise, Callable[..., list[float]]]:
    return EVERY[request.param]


@pytest.fixture
def normalise(both: tuple[Normalise, Callable[..., list[float]]]) -> Normalise:
    return both[0]


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def masks(rows: int, keys: int) -> torch.Tensor:
    """Any keys but the first may be missing, in the last row all."""
    mask = torch.rand(rows, keys, generator=torch.Generator().manual_seed(3)) < 0.6
    mask[:, 0] = True
    mask[-1] = False
    return mask


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("rows", "keys"), [(2, 1), (3, 2), (8, 7), (4, 40)])
def test_weights_are_those_of_the_plain_loop(both, rows: int, keys: int, size: float, masked: bool):
    normalise, by_hand = both
    scores = size * draw(rows, keys)
    mask = masks(rows, keys) if masked else None
    found = normalise(scores, mask)
    for row in range(rows):
        may = [True] * keys if mask is None else mask[row].tolist()
        torch.testing.assert_close(found[row], double(by_hand(scores[row].tolist(), may)), **CLOSE)


def test_sparsemax_by_hand():
    """Of (0.5, 0.2, -1) two are in the support, as 1 + 2 · 0.2 > 0.7 but 1 + 3 · -1 < -0.3: τ = (0.7 - 1) / 2 = -0.15.

    Without the first, 1 + 2 · -1 < -0.8, so only 0.2 is: all goes to it. Of (0.5, -1) likewise. And of ties, each gets
    the same.
    """
    scores = double([[0.5, 0.2, -1.0], [0.5, 0.2, -1.0], [0.5, 0.2, -1.0], [4.0, 4.0, 4.0]])
    mask = torch.tensor([[True, True, True], [False, True, True], [True, False, True], [True, True, False]])
    expected = [[0.65, 0.35, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    torch.testing.assert_close(masked_sparsemax(scores, mask), double(expected), **CLOSE)


def test_entmax_by_hand():
    """Of (1, 0): (½ - τ)² + τ² = 1 has the solution τ = (1 - √7) / 4, so the weights are (8 ± 2√7) / 16.

    Of (2, 0): τ = 0, and all goes to the first. What is masked is not there.
    """
    scores = double([[1.0, 0.0, 1.0], [2.0, 0.0, 5.0], [3.0, 3.0, 3.0]])
    mask = torch.tensor([[True, True, False], [True, True, False], [True, True, False]])
    expected = [[(8 + 2 * math.sqrt(7)) / 16, (8 - 2 * math.sqrt(7)) / 16, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    torch.testing.assert_close(masked_entmax(scores, mask), double(expected), **CLOSE)


def test_sparser_from_softmax_over_entmax_to_sparsemax():
    scores = draw(50, 20)
    found = [normalise(scores, None) for normalise in (masked_softmax, masked_entmax, masked_sparsemax)]
    dense, between, sparse = (weights.count_nonzero(dim=-1) for weights in found)
    assert bool((dense == 20).all())
    assert bool((between >= sparse).all())
    assert sparse.double().mean() + 1 < between.double().mean() < 19


def test_any_leading_axes_will_do(normalise: Normalise):
    scores, mask = draw(2, 3, 4, 5), masks(2, 5)[:, None, None]
    found = normalise(scores, mask)
    assert found.shape == scores.shape
    for row in range(2):
        for head in range(3):
            expected = normalise(scores[row, head], mask[row, 0].expand(4, 5))
            torch.testing.assert_close(found[row, head], expected, **CLOSE)


@pytest.mark.parametrize("hidden", [0.0, 50.0, -50.0, 1e6, -1e6, math.inf, -math.inf])
def test_what_is_masked_is_as_if_it_were_not_there(normalise: Normalise, hidden: float):
    scores, mask = 3 * draw(4, 6), torch.tensor([True, False, True, True, False, True])
    found = normalise(scores.masked_fill(~mask, hidden), mask)
    assert not found[:, ~mask].any()
    torch.testing.assert_close(found[:, mask], normalise(scores[:, mask], None), **CLOSE)


@pytest.mark.parametrize("masked", [False, True])
def test_a_score_of_minus_infinity_counts_as_masked(normalise: Normalise, masked: bool):
    """As a location score gives it to what lies beyond its positions; also where all is masked, as in the last row."""
    scores, real = 3 * draw(4, 6), torch.tensor([True, True, True, True, False, False]).expand(4, 6)
    mask = torch.tensor([[True, False, True, True, True, False]] * 3 + [[False] * 6]) if masked else None
    given = scores.masked_fill(~real, -math.inf).requires_grad_()
    found, counts = normalise(given, mask), real if mask is None else real & mask
    assert not found[~counts].any()
    for row in range(4):
        if counts[row].any():
            torch.testing.assert_close(found[row, counts[row]], normalise(scores[row, counts[row]], None), **CLOSE)
    (found * draw(4, 6, seed=5)).sum().backward()
    assert bool(given.grad.isfinite().all())
    assert not given.grad[~counts].any()
    assert bool(given.grad.any())


def test_the_same_added_to_all_scores_changes_nothing(normalise: Normalise):
    scores, mask = draw(4, 6), masks(4, 6)
    for shift in (-700.0, 1e4):
        torch.testing.assert_close(normalise(scores + shift, mask), normalise(scores, mask), **CLOSE)


def test_a_row_that_is_masked_out_is_zero_with_finite_gradients(normalise: Normalise):
    scores, mask = draw(4, 6).requires_grad_(), masks(4, 6)
    weights = normalise(scores, mask)
    assert not weights[-1].any()
    torch.testing.assert_close(weights[:-1].sum(dim=-1), torch.ones(3, dtype=torch.float64), **CLOSE)
    (weights * draw(4, 6, seed=5)).sum().backward()
    assert bool(scores.grad.isfinite().all())
    assert not scores.grad[-1].any()
    assert not scores.grad[~mask].any(), "what is masked learns nothing"
    assert bool(scores.grad.any())


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_central_differences(normalise: Normalise, masked: bool):
    """Seeds without a weight that is about to vanish, where there is no derivative."""
    scores, mask = draw(4, 6, seed=4).requires_grad_(), masks(4, 6) if masked else None
    weights = normalise(scores, mask)
    assert weights[weights > 0].min() > 1e-4
    assert torch.autograd.gradcheck(lambda scores: normalise(scores, mask), (scores,))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("size", [1e-30, 1e4, 1e8])
def test_enormous_and_tiny_scores_are_finite_and_masked_exactly(normalise: Normalise, size: float, dtype: torch.dtype):
    """The tiny ones are all alike; of the enormous ones the highest takes it all."""
    scores = torch.tensor([[size, -size, 3 * size], [-size, size, 3 * size]], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    weights = normalise(scores, mask)
    expected = [[0.5, 0.5, 0.0] if size < 1 else [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    torch.testing.assert_close(weights, torch.tensor(expected, dtype=dtype), rtol=0.0, atol=1e-7)
    assert torch.equal(weights == 0, torch.tensor(expected) == 0)
    weights.square().sum().backward()
    assert bool(scores.grad.isfinite().all())


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_not_hidden(normalise: Normalise, bad: float):
    weights = normalise(double([[bad, 1.0], [2.0, 1.0]]), torch.tensor([[True, True], [True, True]]))
    assert bool(weights[0].isnan().any())
    assert bool(weights[1].isfinite().all())


@pytest.mark.parametrize("size", [-3e9, 3e9, -1e38, 1e38])
def test_a_masked_score_never_takes_weight_from_an_enormous_one(normalise: Normalise, size: float):
    weights = normalise(torch.tensor([[size, 0.0, size]]), torch.tensor([[True, False, False]]))
    assert weights.tolist() == [[1.0, 0.0, 0.0]]
