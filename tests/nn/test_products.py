"""Products by oneDNN against torch's own, and when they are left to torch."""

import pytest
import torch
from torch.nn import functional

from saccade.nn import products
from saccade.nn.products import Linear, linear, product


@pytest.fixture
def onednn(monkeypatch: pytest.MonkeyPatch):
    """Every product counts as large, and oneDNN is used where this torch has it."""
    for size in ("LARGE", "MEDIUM"):
        monkeypatch.setattr(products, size, 0)
    monkeypatch.setattr(products._onednn, "is_used", False, raising=False)
    products.use_onednn(True)
    if not products._onednn.is_used:
        pytest.skip("this torch has no such operation")


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), requires_grad=True)


@pytest.mark.parametrize("positions", [(1,), (7,), (5, 33), (2, 3, 4)])
def test_linear_is_torchs_in_value_and_gradients(onednn, positions: tuple[int, ...]):
    found = []
    for function in (linear, functional.linear):
        states, weight, bias = drawn(*positions, 24), drawn(40, 24, seed=2), drawn(40, seed=3)
        projected = function(states, weight, bias)
        projected.backward(drawn(*positions, 40, seed=4).detach())
        found.append((projected.detach(), states.grad, weight.grad, bias.grad))
    assert "_Linear" in str(linear(states, weight, bias).grad_fn)
    for ours, torchs in zip(*found, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=1e-5, atol=1e-5)


def test_a_gradient_laid_out_otherwise_and_a_part_of_the_weights(onednn):
    """As cross-attention has them: rows of a matrix, and gradients whose axes were exchanged."""
    found = []
    for function in (linear, functional.linear):
        states, weight, bias = drawn(3, 4, 8), drawn(12, 8, seed=2), drawn(12, seed=3)
        projected = function(states.detach(), weight[4:], bias[4:])
        projected.transpose(1, 2).square().sum().backward()
        found.append((weight.grad, bias.grad))
    for ours, torchs in zip(*found, strict=True):
        torch.testing.assert_close(ours, torchs, rtol=1e-5, atol=1e-5)


def test_product_is_torchs_for_plain_and_transposed_matrices(onednn):
    left, right = drawn(9, 16).detach(), drawn(16, 5, seed=2).detach()
    torch.testing.assert_close(product(left, right.t()), left @ right, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(product(left, right.t().contiguous()), left @ right, rtol=1e-5, atol=1e-5)


def test_what_does_not_suit_is_left_to_torch(onednn, monkeypatch: pytest.MonkeyPatch):
    states, weight, bias = drawn(6, 8), drawn(4, 8), drawn(4)
    assert "_Linear" in str(linear(states, weight, bias).grad_fn)
    assert "_Linear" not in str(linear(states.double(), weight.double(), bias.double()).grad_fn)
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(states, weight, bias).dtype == torch.bfloat16
    monkeypatch.setattr(products, "LARGE", 2 * 6 * 8 * 4 + 1)
    assert "_Linear" not in str(linear(states, weight, bias).grad_fn)


@pytest.mark.parametrize("positions", [(1,), (8,), (3, 3), (17, 2), (2, 129)])
def test_without_gradients_few_numbers_of_rows_occur(onednn, positions: tuple[int, ...], monkeypatch):
    multiply, numbers = products._onednn.multiply, []
    monkeypatch.setattr(
        products._onednn, "multiply", lambda rows, *rest: (numbers.append(len(rows)), multiply(rows, *rest))[1]
    )
    states, weight, bias = drawn(*positions, 24), drawn(40, 24, seed=2), drawn(40, seed=3)
    with torch.inference_mode():
        torch.testing.assert_close(linear(states, weight, bias), functional.linear(states, weight, bias))
    assert numbers == [{1: 8, 8: 8, 9: 16, 34: 40, 258: 288}[states[..., 0].numel()]]


def test_a_torch_without_the_operation_goes_on_without_it(onednn, monkeypatch: pytest.MonkeyPatch):
    def missing(*arguments: object) -> None:
        raise AttributeError

    monkeypatch.setattr(products._onednn, "multiply", missing, raising=False)
    products.use_onednn(True)
    assert not products._onednn.is_used
    assert linear(drawn(6, 8), drawn(4, 8), drawn(4)).shape == (6, 4)


def test_the_module_is_saved_as_torchs():
    ours, torchs = Linear(3, 5), torch.nn.Linear(3, 5)
    ours.load_state_dict(torchs.state_dict())
    states = drawn(2, 3)
    assert torch.equal(ours(states), torchs(states))
