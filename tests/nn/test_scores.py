"""Every score against a plain loop of its paper's equation. Keys are prepared once, however often they are asked."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.errors import DataError
from saccade.nn.attention import Attention
from saccade.nn.normalise import masked_entmax, masked_softmax, masked_sparsemax
from saccade.nn.scores import Additive, Cosine, InnerProduct, Location, Score, dot, general, scaled_dot

CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1, 1), (1, 3, 4), (2, 1, 3), (3, 4, 6)]
"""Batch, queries, keys."""
NUM_POSITIONS = 6


@dataclass(frozen=True)
class Case:
    """A score, its equation for one query and one key at a place, and how a key is prepared."""

    make: Callable[[], Score]
    by_hand: Callable[[Score, plain.Vector, plain.Vector, int], float]
    key_by_hand: Callable[[Score, plain.Vector], plain.Vector]
    d_query: int = 4
    d_key: int = 4

    def build(self) -> Score:
        """In float64; where a bias starts at zero, it could be left out unnoticed."""
        torch.manual_seed(1)
        score = self.make().double()
        if isinstance(score, Additive):
            torch.nn.init.normal_(score.of_query.bias)
        return score

    def draw(self, batch: int = 2, queries: int = 3, keys: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
        random = torch.Generator().manual_seed(2)
        query = torch.randn(batch, queries, self.d_query, generator=random, dtype=torch.float64)
        states = torch.randn(batch, keys, self.d_key, generator=random, dtype=torch.float64)
        return query.requires_grad_(), states.requires_grad_()


def dot_by_hand(score: InnerProduct, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """qᵀk (Luong et al. 2015, §3.1)."""
    return sum(asked * offered for asked, offered in zip(query, state, strict=True))


def scaled_dot_by_hand(score: InnerProduct, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """qᵀk/√d_k (Vaswani et al. 2017, eq. 1)."""
    return dot_by_hand(score, query, state, place) / math.sqrt(len(state))


def general_by_hand(score: InnerProduct, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """qᵀWk (Luong et al. 2015, §3.1): the sum over all pairs of qᵢ W_ij k_j."""
    matrix, total = score.key_map.weight.tolist(), 0.0
    for i, asked in enumerate(query):
        for j, offered in enumerate(state):
            total += asked * matrix[i][j] * offered
    return total


def cosine_by_hand(score: Cosine, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """β q·k / (|q| |k|) (Graves et al. 2014, eq. 5–6), β = log(1 + e^raw)."""
    product = length_query = length_state = 0.0
    for asked, offered in zip(query, state, strict=True):
        product += asked * offered
        length_query += asked * asked
        length_state += offered * offered
    sharpness = math.log(1 + math.exp(score.raw_sharpness.item()))
    return sharpness * product / (math.sqrt(length_query) * math.sqrt(length_state))


def additive_by_hand(score: Additive, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """vᵀtanh(Wq + Uk + b) (Bahdanau et al. 2015, A.1.2)."""
    of_query = plain.product(query, score.of_query.weight.tolist(), score.of_query.bias.tolist())
    of_key = plain.product(state, score.of_key.weight.tolist(), [0.0] * len(score.v))
    total = 0.0
    for v, asked, offered in zip(score.v.tolist(), of_query, of_key, strict=True):
        total += v * math.tanh(asked + offered)
    return total


def additive_key_by_hand(score: Additive, state: plain.Vector) -> plain.Vector:
    """Uk, which "does not depend on i", twice."""
    matrix = score.of_key.weight.tolist()
    return [2 * number for number in plain.product(state, matrix, [0.0] * len(matrix))]


def location_by_hand(score: Location, query: plain.Vector, state: plain.Vector, place: int) -> float:
    """The entry of Wq for this place (Luong et al. 2015, eq. 8)."""
    return sum(weight * asked for weight, asked in zip(score.of_position.weight[place].tolist(), query, strict=True))


def general_key_by_hand(score: InnerProduct, state: plain.Vector) -> plain.Vector:
    """Wk."""
    matrix = score.key_map.weight.tolist()
    return plain.product(state, matrix, [0.0] * len(matrix))


def cosine_key_by_hand(score: Cosine, state: plain.Vector) -> plain.Vector:
    """k / |k|."""
    length = math.sqrt(sum(number * number for number in state))
    return [number / length for number in state]


def same_key(score: Score, state: plain.Vector) -> plain.Vector:
    """k."""
    return state


CASES = {
    "dot": Case(dot, dot_by_hand, same_key),
    "scaled dot": Case(lambda: scaled_dot(4), scaled_dot_by_hand, same_key),
    "general": Case(lambda: general(3, 5), general_by_hand, general_key_by_hand, d_query=3, d_key=5),
    "cosine": Case(lambda: Cosine(2.5), cosine_by_hand, cosine_key_by_hand),
    "additive": Case(lambda: Additive(3, 5, 7), additive_by_hand, additive_key_by_hand, d_query=3, d_key=5),
    "location": Case(lambda: Location(3, NUM_POSITIONS), location_by_hand, same_key, d_query=3, d_key=2),
}
MAPS = {"general": "key_map", "cosine": "key_map", "additive": "of_key"}
"""What prepares the keys of those scores that do something with them."""


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.mark.parametrize(("batch", "queries", "keys"), SHAPES)
def test_a_score_is_its_equation(case: Case, batch: int, queries: int, keys: int):
    score = case.build()
    query, states = case.draw(batch, queries, keys)
    found = score(query, score.keys(states))
    assert found.shape == (batch, queries, keys)
    for row in range(batch):
        for asks in range(queries):
            for key in range(keys):
                expected = case.by_hand(score, query[row, asks].tolist(), states[row, key].tolist(), key)
                assert found[row, asks, key].item() == pytest.approx(expected, abs=1e-12)


def test_gradients_are_those_of_central_differences(case: Case):
    score = case.build()

    def scores(query: torch.Tensor, states: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return score(query, score.keys(states))

    query, states = case.draw()
    assert torch.autograd.gradcheck(scores, (query, states, *score.parameters()))
    gradients = torch.autograd.grad(scores(query, states).sum(), [query, *score.parameters()])
    assert all(bool(gradient.any()) for gradient in gradients), "nothing is learned from a gradient of zero"


def test_a_memory_holds_prepared_keys_and_the_states_themselves_as_values(case: Case):
    score = case.build()
    _, states = case.draw()
    memory = Attention(score).memory(states)
    expected = [[case.key_by_hand(score, state) for state in row] for row in states.tolist()]
    torch.testing.assert_close(memory.keys, torch.tensor(expected, dtype=torch.float64), **CLOSE)
    assert memory.values is states


@pytest.mark.parametrize("name", MAPS)
def test_keys_are_prepared_once_however_often_they_are_asked(name: str):
    score, (query, states) = CASES[name].build(), CASES[name].draw()
    prepare, prepared = getattr(score, MAPS[name]), []

    class Counted(torch.nn.Module):
        def forward(self, given: torch.Tensor) -> torch.Tensor:
            prepared.append(given)
            return prepare(given)

    setattr(score, MAPS[name], Counted())
    attention = Attention(score)
    memory = attention.memory(states)
    for asks in range(3):
        attention(query[:, asks : asks + 1], memory)
        attention.attend(query[:, asks : asks + 1], memory)
    assert len(prepared) == 1
    assert prepared[0] is states


def test_a_general_score_maps_keys_to_the_size_of_queries():
    score = general(3, 5)
    assert score.keys(torch.randn(2, 4, 5)).shape == (2, 4, 3)
    assert [name for name, _ in score.named_parameters()] == ["key_map.weight"]


def test_maps_of_both_sides_may_be_given():
    """With a(q) = 2q, b(k) = k + 1 and a scale of 3, q = (1, 2) and k = (3, 4) score 3 · (2 · 4 + 4 · 5) = 84."""
    score = InnerProduct(lambda query: 2 * query, lambda states: states + 1, scale=3.0)
    keys = score.keys(torch.tensor([[[3.0, 4.0]]]))
    assert keys.tolist() == [[[4.0, 5.0]]]
    assert score(torch.tensor([[[1.0, 2.0]]]), keys).tolist() == [[[84.0]]]


def test_a_cosine_does_not_see_lengths():
    score = CASES["cosine"].build()
    query, states = CASES["cosine"].draw()
    expected = score(query, score.keys(states))
    torch.testing.assert_close(score(query * 3.7, score.keys(states * 1e-3)), expected, **CLOSE)
    torch.testing.assert_close(score(-query, score.keys(states)), -expected, **CLOSE)
    assert bool((expected.abs() <= 2.5).all())


def test_a_cosine_is_as_sharp_as_asked_for():
    """Of a vector with itself it is β."""
    assert Cosine().sharpness.item() == pytest.approx(10.0, rel=1e-6)
    score = Cosine(0.3)
    query = torch.randn(1, 1, 4)
    assert score(query, score.keys(query)).item() == pytest.approx(0.3, rel=1e-5)
    torch.nn.init.constant_(score.raw_sharpness, -50.0)
    assert 0 < score.sharpness.item() < 1e-20, "never below zero, whatever is learned"


def test_a_vector_of_zeros_has_a_cosine_of_zero_and_learns_nothing():
    """It has no direction. Divided by its length, kept above zero, its gradient would be a million million."""
    score = CASES["cosine"].build()
    query, states = (given.detach().clone() for given in CASES["cosine"].draw())
    query[0, 1], states[1, 2] = 0.0, 0.0
    query.requires_grad_()
    states.requires_grad_()
    found = score(query, score.keys(states))
    assert not found[0, 1].any()
    assert not found[1, :, 2].any()
    assert found.count_nonzero() == 2 * 3 * 5 - 5 - 3
    (found * torch.randn(2, 3, 5, dtype=torch.float64)).sum().backward()
    for given, zero in ((query, (0, 1)), (states, (1, 2))):
        assert bool(given.grad.isfinite().all())
        assert not given.grad[zero].any()
        assert given.grad.any(dim=-1).sum() == given.shape[0] * given.shape[1] - 1
    assert bool(score.raw_sharpness.grad.isfinite().all())


def test_a_location_score_does_not_see_what_stands_there():
    score = CASES["location"].build()
    query, states = CASES["location"].draw()
    assert torch.equal(score(query, score.keys(states)), score(query, score.keys(torch.full_like(states, 7.0))))


def test_a_location_score_refuses_what_is_too_long():
    score = Location(3, NUM_POSITIONS)
    assert score.keys(torch.randn(2, NUM_POSITIONS, 4)).shape == (2, NUM_POSITIONS, 4)
    with pytest.raises(DataError) as refused:
        score.keys(torch.randn(2, NUM_POSITIONS + 1, 4))
    assert str(refused.value) == (
        "A location score has 6 positions, but a source has 7 tokens. Split the text, or train with a larger "
        "model.attention.num_positions; model.attention.truncates ignores what lies beyond."
    )


@pytest.mark.parametrize("normalise", [masked_softmax, masked_sparsemax, masked_entmax])
@pytest.mark.parametrize("padded", [False, True])
def test_what_lies_beyond_a_truncated_location_score_gets_exactly_nothing(normalise, padded: bool):
    """And what lies before gets what it would get if the source ended there."""
    torch.manual_seed(1)
    attention = Attention(Location(3, NUM_POSITIONS, truncates=True).double(), normalise=normalise)
    query = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
    states = torch.randn(3, 9, 5, dtype=torch.float64, requires_grad=True)
    mask = padding_mask(torch.tensor([9, 3, 0]), 9) if padded else None
    found = attention.attend(query, attention.memory(states, mask))
    assert not found.weights[..., NUM_POSITIONS:].any()
    shorter = attention.memory(states[:, :NUM_POSITIONS], None if mask is None else mask[:, :NUM_POSITIONS])
    expected = attention.attend(query, shorter)
    torch.testing.assert_close(found.weights[..., :NUM_POSITIONS], expected.weights, **CLOSE)
    torch.testing.assert_close(found.context, expected.context, **CLOSE)

    (found.context * torch.randn(3, 4, 5, dtype=torch.float64)).sum().backward()
    for given in (query, states, attention.score.of_position.weight):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad.any())
    assert not states.grad[:, NUM_POSITIONS:].any()
