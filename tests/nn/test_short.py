"""Attention over few keys against its written-out twin, in weights, gradients and dropout."""

import pytest
import torch

from saccade.nn import dropout as dropouts
from saccade.nn.attention import Memory, attend
from saccade.nn.short import WIDTH, attend_short, is_short


def drawn(queries: int, keys: int, masked: bool = False) -> tuple[torch.Tensor, Memory]:
    """Three rows of two heads; with a mask, each row has one key less than the one before."""
    random = torch.Generator().manual_seed(queries * 100 + keys)
    query, key, value = (
        torch.randn(3, 2, length, 4, generator=random, dtype=torch.float64, requires_grad=True)
        for length in (queries, keys, keys)
    )
    mask = torch.arange(keys) < torch.tensor([keys, max(1, keys - 1), max(1, keys - 2)])[:, None] if masked else None
    return query, Memory(key, value, mask)


CASES = [
    pytest.param(queries, keys, masked, causal, id=f"{queries} to {keys}, {masked=}, {causal=}")
    for queries, keys, masked, causal in [
        (1, 1, False, False),
        (5, 3, False, False),
        (5, WIDTH, False, False),
        (3, 7, True, False),
        (20, 9, True, False),
        (7, 7, False, True),
        (WIDTH, WIDTH, False, True),
        (6, 6, True, True),
    ]
]


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize(("queries", "keys", "masked", "causal"), CASES)
def test_it_is_attend_in_value_and_gradients(queries: int, keys: int, masked: bool, causal: bool, rate: float):
    """Where weights are dropped, the masks differ, as keys are padded; only what is dropped nowhere can be compared."""
    found = []
    for function in (lambda *asked, **more: attend(*asked, **more).context, attend_short):
        query, memory = drawn(queries, keys, masked)
        dropouts.seed(1)
        context = function(query, memory, causal=causal, dropout=rate if keys == WIDTH else 0.0)
        context.backward(torch.linspace(-1, 1, context.numel(), dtype=torch.float64).view(context.shape))
        found.append((context.detach(), query.grad, memory.keys.grad, memory.values.grad))
    for written_out, short in zip(*found, strict=True):
        torch.testing.assert_close(short, written_out, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_its_gradient_is_that_of_central_differences(rate: float):
    query, memory = drawn(3, 4, masked=True)

    def seeded(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        dropouts.seed(7)
        return attend_short(query, Memory(keys, values, memory.mask), dropout=rate)

    assert torch.autograd.gradcheck(seeded, (query, memory.keys, memory.values))


def test_padding_is_never_read():
    """Whatever stands where the mask is False, values and gradients stay the same."""
    query, memory = drawn(4, 6, masked=True)
    other = torch.where(memory.mask[:, None, :, None], memory.keys, 9.0).detach().requires_grad_()
    context = attend_short(query, Memory(other, other, memory.mask))
    same = torch.where(memory.mask[:, None, :, None], memory.keys, 0.0).detach().requires_grad_()
    torch.testing.assert_close(attend_short(query, Memory(same, same, memory.mask)), context)
    context.sum().backward()
    assert not other.grad.masked_select(~memory.mask[:, None, :, None]).any()


def test_it_is_for_few_keys_with_a_gradient_only():
    query, memory = drawn(4, WIDTH)
    assert is_short(query, memory)
    assert not is_short(*drawn(4, WIDTH + 1))
    assert not is_short(query.detach(), memory)
    assert not is_short(query.bfloat16(), memory)
    with torch.no_grad():
        assert not is_short(query, memory)
    nothing = torch.zeros(3, WIDTH, dtype=torch.bool)
    assert not is_short(query, Memory(memory.keys, memory.values, nothing)), "a row without keys has zero weights"
