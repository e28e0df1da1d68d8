"""Addressing of the Neural Turing Machine, against loops over its equations (Graves et al. 2014)."""

import math
from itertools import product

import pytest
import torch
from tests.nn import plain

from saccade.nn.addressing import (
    LARGEST,
    Addressing,
    Parts,
    address,
    content,
    interpolate,
    sharpen,
    shift,
)
from saccade.nn.capture import capture
from saccade.nn.normalise import masked_softmax
from saccade.nn.scores import Cosine

D_CONTROLLER, HEADS = 5, 2
CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1, 1), (1, 6, 3), (3, 1, 4), (2, 2, 3), (4, 7, 2)]
"""Batch, rows of the memory, size of a row."""


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def distribution(*shape: int) -> torch.Tensor:
    return draw(*shape).softmax(dim=-1)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def by_content(wanted: plain.Vector, memory: plain.Matrix, sharpness: float) -> list[float]:
    """Eq. 5, with the cosine of eq. 6."""
    raised = []
    for row in memory:
        product = length_wanted = length_row = 0.0
        for asked, offered in zip(wanted, row, strict=True):
            product += asked * offered
            length_wanted += asked * asked
            length_row += offered * offered
        raised.append(math.exp(sharpness * product / (math.sqrt(length_wanted) * math.sqrt(length_row))))
    return [each / sum(raised) for each in raised]


def interpolated(weights: plain.Vector, previous: plain.Vector, gate: float) -> list[float]:
    """Eq. 7."""
    return [gate * new + (1 - gate) * old for new, old in zip(weights, previous, strict=True)]


def shifted(weights: plain.Vector, shifts: plain.Vector) -> list[float]:
    """Eq. 8, "where all index arithmetic is computed modulo N": first s over all N rows, then the sum over j."""
    rows, reach = len(weights), len(shifts) // 2
    around = [0.0] * rows
    for distance in range(-reach, reach + 1):
        around[distance % rows] += shifts[distance + reach]
    return [sum(weights[j] * around[(i - j) % rows] for j in range(rows)) for i in range(rows)]


def sharpened(weights: plain.Vector, gamma: float) -> list[float]:
    """Eq. 9."""
    total = 0.0
    for weight in weights:
        total += weight**gamma
    return [weight**gamma / total for weight in weights]


@pytest.mark.parametrize(("batch", "rows", "d_key"), SHAPES)
def test_content_is_equations_5_and_6(batch: int, rows: int, d_key: int):
    wanted, memory, sharpness = draw(batch, HEADS, d_key), draw(batch, rows, d_key), draw(batch, HEADS, 1).exp()
    found = content(wanted, memory, sharpness)
    for example, head in product(range(batch), range(HEADS)):
        at = example, head
        expected = by_content(wanted[at].tolist(), memory[example].tolist(), sharpness[at].item())
        torch.testing.assert_close(found[at], double(expected), **CLOSE)


def test_content_is_attention_by_the_cosine_score():
    score = Cosine(sharpness=3.0).double()
    wanted, memory = draw(4, HEADS, 3), draw(4, 6, 3)
    memory[0, 2] = 0.0
    expected = masked_softmax(score(wanted, score.keys(memory)), None)
    torch.testing.assert_close(content(wanted, memory, score.sharpness.expand(4, HEADS, 1)), expected, **CLOSE)


@pytest.mark.parametrize(("batch", "rows", "_"), SHAPES)
def test_interpolation_is_equation_7(batch: int, rows: int, _: int):
    weights, previous, gate = distribution(batch, rows), distribution(batch, rows), draw(batch, 1).sigmoid()
    found = interpolate(weights, previous, gate)
    for example in range(batch):
        expected = interpolated(weights[example].tolist(), previous[example].tolist(), gate[example].item())
        torch.testing.assert_close(found[example], double(expected), **CLOSE)


def test_a_closed_gate_keeps_the_previous_weights_and_an_open_one_takes_the_new():
    weights, previous = distribution(2, 5), distribution(2, 5)
    found = interpolate(weights, previous, double([[0.0], [1.0]]))
    assert torch.equal(found[0], previous[0])
    assert torch.equal(found[1], weights[1])


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize(("batch", "rows", "_"), SHAPES)
def test_shift_is_equation_8(batch: int, rows: int, _: int, reach: int):
    weights, shifts = distribution(batch, rows), distribution(batch, 2 * reach + 1)
    found = shift(weights, shifts)
    for example in range(batch):
        expected = shifted(weights[example].tolist(), shifts[example].tolist())
        torch.testing.assert_close(found[example], double(expected), **CLOSE)
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(batch, dtype=torch.float64), **CLOSE)


def test_one_certain_shift_rolls():
    """By -1, 0 and 1; the last wraps around."""
    weights = double([[0.1, 0.2, 0.3, 0.4]] * 3)
    expected = double([[0.2, 0.3, 0.4, 0.1], [0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.2, 0.3]])
    assert torch.equal(shift(weights, torch.eye(3, dtype=torch.float64)), expected)


def test_the_paper_s_example_of_a_blurred_shift():
    """ "if shifts of -1, 0 and 1 are given weights of 0.1, 0.8 and 0.1", a single point is blurred over three."""
    point, shifts = double([[0.0, 0.0, 1.0, 0.0, 0.0]]), double([[0.1, 0.8, 0.1]])
    torch.testing.assert_close(shift(point, shifts), double([[0.0, 0.1, 0.8, 0.1, 0.0]]), **CLOSE)


def test_shifts_are_as_many_to_either_side():
    with pytest.raises(AssertionError):
        shift(distribution(1, 4), distribution(1, 2))


@pytest.mark.parametrize(("batch", "rows", "_"), SHAPES)
def test_sharpening_is_equation_9(batch: int, rows: int, _: int):
    weights, gamma = distribution(batch, rows), 1 + draw(batch, 1).exp()
    found = sharpen(weights, gamma)
    for example in range(batch):
        expected = sharpened(weights[example].tolist(), gamma[example].item())
        torch.testing.assert_close(found[example], double(expected), **CLOSE)


def test_gamma_of_one_changes_nothing_and_a_large_one_leaves_the_highest():
    weights = double([[0.2, 0.35, 0.15, 0.3]] * 2)
    found = sharpen(weights, double([[1.0], [200.0]]))
    torch.testing.assert_close(found[0], weights[0], **CLOSE)
    torch.testing.assert_close(found[1], double([0.0, 1.0, 0.0, 0.0]), **CLOSE)


def test_sharpening_even_weights_over_many_rows_does_not_vanish():
    """(1/128)^20 is below 1e-42: in float32 nothing of it is left to divide by."""
    even = torch.full((1, 128), 1 / 128)
    torch.testing.assert_close(sharpen(even, torch.full((1, 1), 20.0)), even)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("gamma", [1.0, 1.5, 50.0])
def test_weights_of_zero_stay_zero_with_finite_gradients(dtype: torch.dtype, gamma: float):
    """With (0, 0.55, 0.45) there is something to divide by; with (0, 0, 0) there is not. 1e-44 is barely above 0."""
    weights = torch.tensor([[0, 0.55, 0.45], [0, 0, 0], [1e-44, 0, 1]], dtype=dtype, requires_grad=True)
    power = torch.full((3, 1), gamma, dtype=dtype, requires_grad=True)
    found = sharpen(weights, power)
    assert not found[weights == 0].any()
    torch.testing.assert_close(found.sum(dim=-1), torch.tensor([1, 0, 1], dtype=dtype))
    (found * torch.tensor([1.0, -2.0, 3.0], dtype=dtype)).sum().backward()
    for given in (weights, power):
        assert bool(given.grad.isfinite().all())
        assert not given.grad[1].any()
    assert not weights.grad[weights == 0].any()
    assert bool(weights.grad[0, 1:].all())


def module(parts: Parts, num_heads: int = HEADS) -> Addressing:
    addressing = Addressing(D_CONTROLLER, parts, num_heads).double()
    torch.nn.init.normal_(addressing.of_controller.bias)
    return addressing


def softplus(number: float) -> float:
    return math.log(1 + math.exp(number))


def addressed(outputs: plain.Vector, memory: plain.Matrix, previous: plain.Vector, parts: Parts) -> list[float]:
    """A head's outputs, then eq. 5, 7, 8 and 9, in the order of Figure 2; a part that is missing takes no output."""
    rest = [min(max(each, -LARGEST), LARGEST) for each in outputs]
    wanted, rest = rest[: parts.d_key], rest[parts.d_key :]
    weights = by_content(wanted, memory, softplus(rest.pop(0)))
    if parts.interpolates:
        weights = interpolated(weights, previous, 1 / (1 + math.exp(-rest.pop(0))))
    if parts.reach:
        raised = [math.exp(rest.pop(0)) for _ in range(2 * parts.reach + 1)]
        weights = shifted(weights, [each / sum(raised) for each in raised])
    if parts.sharpens:
        weights = sharpened(weights, 1 + softplus(rest.pop(0)))
    assert rest == []
    return weights


KINDS = [
    Parts(3),
    Parts(2, reach=2),
    Parts(3, reach=0),
    Parts(3, interpolates=False),
    Parts(3, sharpens=False),
    Parts(1, reach=0, interpolates=False, sharpens=False),
]


@pytest.mark.parametrize("num_heads", [1, 3])
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("parts", KINDS)
def test_heads_are_addressed_as_in_figure_2(parts: Parts, rows: int, num_heads: int):
    addressing = module(parts, num_heads)
    controller, memory, previous = draw(2, D_CONTROLLER), draw(2, rows, parts.d_key), distribution(2, num_heads, rows)
    found, linear = addressing(controller, memory, previous), addressing.of_controller
    for example, head in product(range(2), range(num_heads)):
        outputs = plain.product(controller[example].tolist(), linear.weight.tolist(), linear.bias.tolist())
        size = len(outputs) // num_heads
        given = memory[example].tolist(), previous[example, head].tolist(), parts
        expected = addressed(outputs[head * size : (head + 1) * size], *given)
        torch.testing.assert_close(found[example, head], double(expected), **CLOSE)
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(2, num_heads, dtype=torch.float64), **CLOSE)


def test_a_head_can_walk_through_the_rows_whatever_stands_there():
    """The third mode of §3.3.2: gate 0, a certain shift of 1, γ = 1, as nearly as outputs of ±20 can say it."""
    addressing = Addressing(D_CONTROLLER, Parts(2)).double()
    with torch.no_grad():
        addressing.of_controller.weight.zero_()
        addressing.of_controller.bias.copy_(double([0, 0, 0, -1000, -1000, -1000, 1000, -1000]))
    weights = double([[[1.0, 0.0, 0.0]]])
    walked = [weights]
    for _ in range(3):
        walked.append(addressing(draw(1, D_CONTROLLER), draw(1, 3, 2), walked[-1]))
    expected = double([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    torch.testing.assert_close(torch.cat(walked)[:, 0], expected, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("parts", KINDS)
def test_gradients_are_those_of_central_differences(parts: Parts):
    addressing = module(parts)
    given = [draw(2, D_CONTROLLER), draw(2, 4, parts.d_key), distribution(2, HEADS, 4)]
    given[1][0, 0] += 1.0
    for each in given:
        each.requires_grad_()
    assert torch.autograd.gradcheck(lambda *all: addressing(*all[:3]), (*given, *addressing.parameters()))


def test_heads_of_a_machine_stay_finite_in_float32():
    """A hundred steps of extreme outputs, on a memory of almost nothing: neither weights nor gradients are lost."""
    outputs = (1000 * torch.randn(100, 1, HEADS, 9)).requires_grad_()
    memory = torch.full((1, 128, 3), 1e-6, requires_grad=True)
    weights = torch.eye(128)[:1].expand(1, HEADS, 128)
    for each in outputs:
        weights = address(each, memory, weights, Parts(3))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, HEADS))
    weights[0, 0, 5].backward()
    assert bool(outputs.grad.isfinite().all())
    assert bool(memory.grad.isfinite().all())


@pytest.mark.parametrize(
    ("function", "others"), [(interpolate, [(2, 4), (2, 1)]), (shift, [(2, 3)]), (sharpen, [(2, 1)])]
)
def test_gradients_of_each_function(function, others: list[tuple[int, int]]):
    given = [each.detach().requires_grad_() for each in (distribution(2, 4), *(draw(*shape).exp() for shape in others))]
    assert torch.autograd.gradcheck(function, given)


def test_an_empty_row_of_the_memory_has_no_gradient_and_hinders_no_other():
    memory = draw(2, 4, 3)
    memory[0, 1], memory[1] = 0.0, 0.0
    memory.requires_grad_()
    controller = draw(2, D_CONTROLLER).requires_grad_()
    found = module(Parts(3))(controller, memory, distribution(2, HEADS, 4))
    found[..., 0].sum().backward()
    assert bool(found.isfinite().all())
    assert not memory.grad[0, 1].any()
    assert not memory.grad[1].any()
    assert bool(memory.grad[0, [0, 2, 3]].any())
    assert bool(controller.grad.isfinite().all())
    assert memory.grad.abs().max() < 100


def test_one_example_does_not_reach_another():
    addressing = module(Parts(3))
    given = [draw(3, D_CONTROLLER), draw(3, 5, 3), distribution(3, HEADS, 5)]
    together = addressing(*given)
    for example in range(3):
        alone = addressing(*(each[example : example + 1] for each in given))
        torch.testing.assert_close(together[example : example + 1], alone, **CLOSE)


def test_its_weights_are_heard_and_nothing_is_kept():
    addressing = module(Parts(3))
    given = draw(2, D_CONTROLLER), draw(2, 5, 3), distribution(2, HEADS, 5)
    before, quiet = set(vars(addressing)), addressing(*given)
    with capture(addressing) as heard:
        found = addressing(*given)
        addressing(*given)
    assert torch.equal(found, quiet)
    assert [tuple(weights.shape) for weights in heard.weights[""]] == [(2, HEADS, 1, 5)] * 2
    assert torch.equal(heard.weights[""][0][:, :, 0], found)
    assert not heard.weights[""][0].requires_grad
    assert set(vars(addressing)) == before
