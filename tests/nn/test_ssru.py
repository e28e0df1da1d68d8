"""The SSRU against its equations, one number at a time, and in training."""

import math

import pytest
import torch

from saccade.nn.ssru import SSRU, Cell

D_MODEL = 3


@pytest.fixture
def unit() -> SSRU:
    made = SSRU(D_MODEL).double()
    torch.nn.init.normal_(made.forget_bias)
    return made


def by_hand(unit: SSRU, states: torch.Tensor, cell: list[float]) -> tuple[list[list[float]], list[float]]:
    """f = σ(xW_f + b_f), c' = fc + (1 - f)xW, y = max(0, c') of one row."""
    weight, bias, outputs = unit.weight.tolist(), unit.forget_bias.tolist(), []
    for x in states.tolist():
        new, gate = (
            [sum(w * v for w, v in zip(row, x, strict=True)) for row in half]
            for half in (weight[:D_MODEL], weight[D_MODEL:])
        )
        forget = [1 / (1 + math.exp(-g - b)) for g, b in zip(gate, bias, strict=True)]
        cell = [f * c + (1 - f) * n for f, c, n in zip(forget, cell, new, strict=True)]
        outputs.append([max(0.0, c) for c in cell])
    return outputs, cell


def test_it_is_its_equations(unit: SSRU):
    states, past = torch.randn(2, 5, D_MODEL).double(), torch.randn(2, D_MODEL).double()
    outputs, after = unit(states, Cell(past))
    for row in range(2):
        expected, cell = by_hand(unit, states[row], past[row].tolist())
        torch.testing.assert_close(outputs[row], torch.tensor(expected).double())
        torch.testing.assert_close(after.cell[row], torch.tensor(cell).double())


def test_positions_one_by_one_are_the_same_as_together(unit: SSRU):
    states, cell = torch.randn(2, 5, D_MODEL).double(), Cell(torch.zeros(2, D_MODEL).double())
    together, last = unit(states, cell)
    for position in range(5):
        output, cell = unit(states[:, position : position + 1], cell)
        torch.testing.assert_close(output[:, 0], together[:, position])
    torch.testing.assert_close(cell.cell, last.cell)


def test_gradients_are_those_of_central_differences(unit: SSRU):
    states, past = (torch.randn(*size, dtype=torch.float64, requires_grad=True) for size in ((2, 4, 3), (2, 3)))
    assert torch.autograd.gradcheck(lambda *given: unit(given[0], Cell(given[1]))[0], (states, past))


def test_a_cell_keeps_its_precision_under_autocast():
    unit, states = SSRU(8), torch.randn(2, 3, 8)
    with torch.autocast("cpu", torch.bfloat16):
        outputs, after = unit(states, Cell(torch.zeros(2, 8)))
    assert outputs.dtype == after.cell.dtype == torch.float32
