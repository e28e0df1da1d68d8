"""Pointing at positions of the input, against loops over equation 3 (Vinyals et al. 2015)."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.nn.capture import capture
from saccade.nn.pointer import IndexScores, PointerScores

D_QUERY, D_KEY, D_HIDDEN = 3, 4, 5
CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1, 1), (1, 3, 4), (2, 1, 3), (3, 4, 6)]
"""Batch, queries, keys."""


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture
def pointer() -> PointerScores:
    torch.manual_seed(1)
    module = PointerScores(D_QUERY, D_KEY, D_HIDDEN).double()
    torch.nn.init.normal_(module.score.of_query.bias)
    return module


def lengths(batch: int, keys: int) -> torch.Tensor:
    """All, one less, two less, but at least one."""
    return torch.tensor([max(1, keys - row) for row in range(batch)])


def logit(pointer: PointerScores, query: plain.Vector, state: plain.Vector) -> float:
    """vᵀtanh(W₁e + W₂d) (eq. 3), with a bias beside W₂d."""
    score = pointer.score
    of_query = plain.product(query, score.of_query.weight.tolist(), score.of_query.bias.tolist())
    of_key = plain.product(state, score.of_key.weight.tolist(), [0.0] * D_HIDDEN)
    total = 0.0
    for v, asked, offered in zip(score.v.tolist(), of_query, of_key, strict=True):
        total += v * math.tanh(asked + offered)
    return total


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(("batch", "queries", "keys"), SHAPES)
def test_logits_are_equation_3(pointer: PointerScores, batch: int, queries: int, keys: int, masked: bool, given: bool):
    query, states = draw(batch, queries, D_QUERY), draw(batch, keys, D_KEY)
    mask = padding_mask(lengths(batch, keys), keys) if masked else None
    taken = torch.rand(batch, queries, keys) < 0.5 if given else None
    if taken is not None:
        taken[..., 0] = False  # something is left
    found = pointer(query, pointer.memory(states, mask), taken)
    for row in range(batch):
        for asks in range(queries):
            for key in range(keys):
                is_out = (mask is not None and not mask[row, key]) or (taken is not None and taken[row, asks, key])
                expected = logit(pointer, query[row, asks].tolist(), states[row, key].tolist())
                assert found[row, asks, key].item() == (-math.inf if is_out else pytest.approx(expected, abs=1e-12))


def test_what_is_out_of_reach_has_exactly_no_probability(pointer: PointerScores):
    mask = torch.tensor([[True, True, False, True], [True, False, False, False]])
    taken = torch.zeros(2, 3, 4, dtype=torch.bool)
    taken[0, 1, 0] = True
    logits = pointer(draw(2, 3, D_QUERY), pointer.memory(draw(2, 4, D_KEY), mask), taken)
    out = ~mask[:, None] | taken
    probabilities = logits.softmax(dim=-1)
    assert not probabilities[out].any()
    assert bool(probabilities[~out].all())
    assert logits.isneginf().equal(out)


def test_nothing_left_to_point_at_is_finite_without_gradient(pointer: PointerScores):
    """The second row is padding only; of the first, the second query finds all taken."""
    query, states = draw(2, 2, D_QUERY).requires_grad_(), draw(2, 3, D_KEY).requires_grad_()
    mask = torch.tensor([[True, True, True], [False, False, False]])
    taken = torch.zeros(2, 2, 3, dtype=torch.bool)
    taken[0, 1] = True
    logits = pointer(query, pointer.memory(states, mask), taken)
    assert bool(logits.isfinite().all())
    log_probs = logits.log_softmax(dim=-1)
    assert bool(log_probs.isfinite().all())
    log_probs.square().sum().backward()
    for given in (query, states, *pointer.parameters()):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad.any())
    assert not query.grad[0, 1].any()
    assert not query.grad[1].any()
    assert not states.grad[1].any()


def test_with_nothing_left_any_other_choice_is_certain(pointer: PointerScores):
    mask = torch.tensor([[True, True], [False, False]])
    logits = pointer(draw(2, 1, D_QUERY), pointer.memory(draw(2, 2, D_KEY), mask))
    with_stop = torch.cat([logits, torch.full((2, 1, 1), -3.0, dtype=torch.float64)], dim=-1).softmax(dim=-1)
    assert bool(with_stop[0].all())
    assert with_stop[1].tolist() == [[0.0, 0.0, 1.0]]


def test_padding_changes_nothing(pointer: PointerScores):
    query, states, mask = draw(2, 3, D_QUERY), draw(2, 5, D_KEY), padding_mask(torch.tensor([5, 3]), 5)
    before = pointer(query, pointer.memory(states, mask))
    after = pointer(query, pointer.memory(states.masked_fill(~mask[..., None], 1e3), mask))
    assert torch.equal(before, after)
    alone = pointer(query[1:], pointer.memory(states[1:, :3]))
    torch.testing.assert_close(before[1:, :, :3], alone, **CLOSE)


def test_pointing_without_return_orders_all_positions(pointer: PointerScores):
    query, memory = draw(4, 1, D_QUERY), pointer.memory(draw(4, 6, D_KEY))
    taken, order = torch.zeros(4, 1, 6, dtype=torch.bool), []
    for _ in range(6):
        order.append(pointer(query, memory, taken).argmax(dim=-1))
        taken = taken.scatter(-1, order[-1][..., None], True)
    assert torch.cat(order, dim=-1).sort(dim=-1).values.tolist() == [list(range(6))] * 4


def test_gradients_are_those_of_central_differences(pointer: PointerScores):
    mask = padding_mask(torch.tensor([4, 2, 0]), 4)

    def log_probs(query: torch.Tensor, states: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        """Of what is in reach: elsewhere they are -inf."""
        found = pointer(query, pointer.memory(states, mask)).log_softmax(dim=-1)
        return found.masked_fill(~mask[:, None], 0.0)

    given = draw(3, 2, D_QUERY).requires_grad_(), draw(3, 4, D_KEY).requires_grad_()
    assert torch.autograd.gradcheck(log_probs, (*given, *pointer.parameters()))


def test_its_softmax_is_heard_and_nothing_is_kept(pointer: PointerScores):
    query, states, mask = draw(3, 2, D_QUERY), draw(3, 4, D_KEY), padding_mask(torch.tensor([4, 2, 0]), 4)
    before = {name: set(vars(module)) for name, module in pointer.named_modules()}
    memory = pointer.memory(states, mask)
    quiet = pointer(query, memory)
    with capture(pointer) as heard:
        found = pointer(query, memory)
    assert torch.equal(found, quiet)
    assert list(heard.weights) == [""]
    (weights,) = heard.weights[""]
    assert weights.shape == (3, 1, 2, 4)
    torch.testing.assert_close(weights[:2, 0], found[:2].softmax(dim=-1), **CLOSE)
    assert not weights[2].any()
    assert {name: set(vars(module)) for name, module in pointer.named_modules()} == before


def test_an_index_softmax_reads_by_attention_and_names_by_position():
    """d′ = Σ a e by the additive score, and one row of the output layer for each position (§2.2)."""
    torch.manual_seed(1)
    index = IndexScores(D_QUERY, D_KEY, D_HIDDEN, num_positions=7).double()
    query, states, mask = draw(2, 3, D_QUERY), draw(2, 5, D_KEY), padding_mask(torch.tensor([5, 3]), 5)
    taken = torch.zeros(2, 3, 5, dtype=torch.bool)
    taken[0, 2, 1] = True
    found = index(query, index.memory(states, mask), taken)
    for row in range(2):
        for asks in range(3):
            scores = [logit(index.attention, query[row, asks].tolist(), state.tolist()) for state in states[row]]
            context = plain.mixture(plain.softmax(scores, mask[row].tolist()), states[row].tolist())
            named = plain.product(
                query[row, asks].tolist() + context, index.output.weight.tolist(), index.output.bias.tolist()
            )
            for key in range(5):
                is_out = not mask[row, key] or bool(taken[row, asks, key])
                assert found[row, asks, key].item() == (-math.inf if is_out else pytest.approx(named[key], abs=1e-12))
