"""The decoder of Show, Attend and Tell, number by number from the paper's equations."""

import math

import pytest
import torch
from tests.nn.plain import Vector, dot, mixture, product, sigmoid, softmax
from torch import Tensor, nn

from saccade.nn.attention import Attention
from saccade.nn.captions import MeanVector, ShowAttendTell
from saccade.nn.hard import HardAttention
from saccade.nn.masks import mean_of
from saccade.nn.recurrent import Reader, RecurrentShape
from saccade.nn.scores import Additive

CELLS, D_IMAGE, D_MODEL, STEPS = 5, 3, 4, 3


def decoder(reader: str) -> ShowAttendTell:
    torch.manual_seed(1)
    score = Additive(D_MODEL, D_IMAGE, 6)
    readers: dict[str, Reader] = {"soft": Attention(score), "hard": HardAttention(score), "mean": MeanVector()}
    shape = RecurrentShape(cell="lstm", d_model=D_MODEL, num_layers=1, dropout=0.0)
    built = ShowAttendTell(shape, readers[reader], D_IMAGE).double().eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return built


def given() -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(2)
    cells = torch.randn(2, CELLS, D_IMAGE, generator=random, dtype=torch.float64)
    return cells, torch.randn(2, STEPS, D_MODEL, generator=random, dtype=torch.float64)


def of(layer: nn.Linear, vector: Vector) -> list[float]:
    return product(vector, layer.weight.tolist(), layer.bias.tolist())


def lstm(stack: nn.LSTM, inputs: Vector, hidden: Vector, cell: Vector) -> tuple[list[float], list[float]]:
    """Gates in torch's order: in, forget, new, out."""
    from_input = product(inputs, stack.weight_ih_l0.tolist(), stack.bias_ih_l0.tolist())
    from_hidden = product(hidden, stack.weight_hh_l0.tolist(), stack.bias_hh_l0.tolist())
    gates = [a + b for a, b in zip(from_input, from_hidden, strict=True)]
    d = len(hidden)
    new_cell = [
        sigmoid(gates[d + at]) * cell[at] + sigmoid(gates[at]) * math.tanh(gates[2 * d + at]) for at in range(d)
    ]
    return [sigmoid(gates[3 * d + at]) * math.tanh(new_cell[at]) for at in range(d)], new_cell


def by_hand(model: ShowAttendTell, reader: str, cells: Tensor, embedded: Tensor) -> tuple[list[Vector], list[Vector]]:
    """What one image's caption is spoken from at each step, and the weights of each step."""
    rows, words = cells.tolist(), embedded.tolist()
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    hidden = [math.tanh(x) for x in of(model.first_hidden, mean)]
    cell = [math.tanh(x) for x in of(model.first_cell, mean)]
    spoken, looked = [], []
    for word in words:
        weights = [1 / len(rows)] * len(rows)
        if reader != "mean":
            score = model.cross_attention.score
            asked = of(score.of_query, hidden)
            scores = []
            for row in rows:
                offered = product(row, score.of_key.weight.tolist(), [0.0] * 6)
                scores.append(dot(score.v.tolist(), [math.tanh(a + b) for a, b in zip(asked, offered, strict=True)]))
            weights = softmax(scores, [True] * len(rows))
            if reader == "hard":
                weights = [float(weight == max(weights)) for weight in weights]
        gate = sigmoid(of(model.gate, hidden)[0])
        context = [gate * number for number in mixture(weights, rows)]
        hidden, cell = lstm(model.recurrence.stack, [*word, *context], hidden, cell)
        from_hidden, from_context = of(model.of_hidden, hidden), of(model.of_context, context)
        spoken.append([sum(each) for each in zip(word, from_hidden, from_context, strict=True)])
        looked.append(weights)
    return spoken, looked


@pytest.mark.parametrize("reader", ["soft", "hard", "mean"])
def test_every_step_is_that_of_the_equations(reader: str):
    model, (cells, embedded) = decoder(reader), given()
    decoded, _ = model(embedded, model.start(cells))
    for row in range(2):
        spoken, looked = by_hand(model, reader, cells[row], embedded[row])
        assert decoded.hidden[row].tolist() == [pytest.approx(each, abs=1e-12) for each in spoken]
        if reader == "soft":
            assert decoded.read.weights[row].tolist() == [pytest.approx(each, abs=1e-12) for each in looked]


@pytest.mark.parametrize("reader", ["soft", "mean"])
def test_gradients_are_those_of_differences(reader: str):
    model, (cells, embedded) = decoder(reader), given()
    cells.requires_grad_(), embedded.requires_grad_()

    def spoken(cells: Tensor, embedded: Tensor) -> Tensor:
        return model(embedded, model.start(cells))[0].hidden

    assert torch.autograd.gradcheck(spoken, (cells, embedded))


def test_in_training_hard_attention_tells_of_its_choices():
    model, (cells, embedded) = decoder("hard").train(), given()
    model.cross_attention.sampling = 1.0
    torch.manual_seed(3)
    read = model(embedded, model.start(cells))[0].read
    assert read.log_prob.shape == read.entropy.shape == (2, STEPS)
    torch.testing.assert_close(read.weights.sum(dim=-1), torch.ones(2, STEPS, dtype=torch.float64))
    assert bool((read.weights < 1).all()), "the distribution, not the choice"


def test_a_mean_is_of_the_real_cells():
    cells, mask = given()[0], torch.tensor([[True, True, False, False, True], [False] * 5])
    expected = (cells[0, 0] + cells[0, 1] + cells[0, 4]) / 3
    torch.testing.assert_close(mean_of(cells, mask)[0], expected)
    assert not mean_of(cells, mask)[1].any()
