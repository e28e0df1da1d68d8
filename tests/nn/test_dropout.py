"""Our dropout has the statistics of torch's, and is a function of its seed alone."""

import pytest
import torch

from saccade.nn import dropout
from saccade.nn.dropout import POOL_BYTES, Dropout

COUNT = 1_000_000


@pytest.fixture(autouse=True)
def seeded() -> None:
    dropout.seed(1)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_rate_is_kept_and_so_is_the_expectation(rate: float):
    """Of n elements, n · rate are dropped with a deviation of √(n · rate · (1 - rate)); we allow five of them.

    The rate is rounded to 1/256 first. What is kept is scaled so that the mean, 1, stays.
    """
    rounded = round(rate * 256) / 256
    deviation = (rounded * (1 - rounded) / COUNT) ** 0.5
    out = Dropout(rate)(torch.ones(COUNT))
    assert (out == 0).double().mean().item() == pytest.approx(rounded, abs=5 * deviation)
    assert out.double().mean().item() == pytest.approx(1, abs=5 * deviation / (1 - rounded))
    torch.testing.assert_close(out.unique(), torch.tensor([0, 1 / (1 - rounded)]))


def test_its_twin_in_torch_has_the_same_statistics():
    """A rate of 1/4 is exact in both: mean 1, variance 1/3, and no neighbour knows of the other."""
    for module in (Dropout(0.25), torch.nn.Dropout(0.25)):
        out = module(torch.ones(COUNT)).double()
        assert out.mean().item() == pytest.approx(1, abs=0.003)
        assert out.var().item() == pytest.approx(1 / 3, abs=0.003)
        for distance in (1, 8, 64):
            together = ((out[distance:] - 1) * (out[:-distance] - 1)).mean().item()
            assert together == pytest.approx(0, abs=0.003)


def test_the_gradient_goes_through_the_same_mask():
    states = torch.randn(50, 40, dtype=torch.float64, requires_grad=True)
    out = Dropout(0.5)(states)
    upstream = torch.randn(50, 40, dtype=torch.float64)
    out.backward(upstream)
    factor = out.detach() / states.detach()
    torch.testing.assert_close(states.grad, upstream * factor)
    assert set(factor.round(decimals=9).unique().tolist()) == {0.0, 2.0}


def test_the_gradient_is_that_of_central_differences():
    def seeded(states: torch.Tensor) -> torch.Tensor:
        dropout.seed(7)
        return Dropout(0.3)(states)

    assert torch.autograd.gradcheck(seeded, torch.randn(5, 6, dtype=torch.float64, requires_grad=True))


def test_the_same_seed_gives_the_same_masks_and_another_others():
    def draw(*numbers: int) -> list[torch.Tensor]:
        dropout.seed(*numbers)
        return [Dropout(0.5)(torch.ones(30, 30)) for _ in range(3)] + [torch.rand(9)]

    first, again, other = draw(1, 2), draw(1, 2), draw(1, 3)
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(first, other, strict=True))
    assert not torch.equal(first[0], first[1])


def test_what_is_drawn_over_the_edge_of_the_pool_is_random_too():
    module = Dropout(0.5)
    large = module(torch.ones(POOL_BYTES + 3))
    assert large.mean().item() == pytest.approx(1, abs=0.005)
    after = [module(torch.ones(POOL_BYTES // 3)) for _ in range(4)]
    assert all(out.mean().item() == pytest.approx(1, abs=0.01) for out in after)
    assert not torch.equal(after[0], after[3])


def test_earlier_masks_survive_later_draws():
    """The bytes are handed out without a copy; a backward pass comes long after."""
    states = torch.ones(1000, requires_grad=True)
    out = Dropout(0.5)(states)
    Dropout(0.5)(torch.ones(2 * POOL_BYTES))
    out.sum().backward()
    assert torch.equal(states.grad, out.detach())


def test_off_in_eval_and_at_rate_zero():
    states = torch.randn(10)
    assert Dropout(0.5).eval()(states) is states
    assert Dropout(0.0)(states) is states


@pytest.mark.parametrize("rate", [0.9975, 0.999])
def test_the_highest_rates_keep_one_in_256(rate: float):
    out = Dropout(rate)(torch.ones(COUNT))
    assert (out != 0).double().mean().item() == pytest.approx(1 / 256, rel=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_any_shape_and_kind_of_number(dtype: torch.dtype):
    out = Dropout(0.5)(torch.ones(3, 4, 5, dtype=dtype).transpose(0, 2))
    assert out.shape == (5, 4, 3)
    assert out.dtype == dtype
    assert set(out.flatten().tolist()) == {0.0, 2.0}
    assert Dropout(0.5)(torch.ones(0, 4, dtype=dtype)).shape == (0, 4)
