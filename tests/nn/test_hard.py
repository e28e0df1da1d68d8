"""Hard attention (Xu et al. 2015, §4.1): what is chosen, how often, and what a loss is told of it."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.nn.capture import capture
from saccade.nn.hard import HardAttention, HardMemory
from saccade.nn.scores import Additive, dot, general

BATCH, QUERIES, KEYS, D_MODEL = 4, 3, 5, 4
LENGTHS = [5, 3, 1, 0]
CLOSE = {"rtol": 0.0, "atol": 1e-12}


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.fixture
def attention() -> HardAttention:
    torch.manual_seed(1)
    return HardAttention(general(D_MODEL, D_MODEL).double(), sampling=0.5)


def draw() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, states, and which of them are real: of the last row, none."""
    random = torch.Generator().manual_seed(2)
    query = torch.randn(BATCH, QUERIES, D_MODEL, generator=random, dtype=torch.float64)
    states = torch.randn(BATCH, KEYS, D_MODEL, generator=random, dtype=torch.float64)
    return query.requires_grad_(), states.requires_grad_(), padding_mask(torch.tensor(LENGTHS), KEYS)


def with_samples(memory: HardMemory, samples: list[bool]) -> HardMemory:
    return HardMemory(memory.keys, memory.values, memory.mask, torch.tensor(samples))


def distribution_by_hand(attention: HardAttention, query: plain.Vector, states: plain.Matrix, length: int):
    """α = softmax(qᵀWk) over the real keys."""
    matrix = attention.score.key_map.weight.tolist()
    scores = [plain.dot(query, plain.product(state, matrix, [0.0] * D_MODEL)) for state in states]
    return plain.softmax(scores, [key < length for key in range(len(states))])


def entropy_by_hand(distribution: plain.Vector) -> float:
    return -sum(each * math.log(each) for each in distribution if each > 0)


def place_of(context: torch.Tensor, states: torch.Tensor) -> int:
    """Which of the states was read, whole and alone."""
    (place,) = (states == context).all(dim=-1).nonzero().flatten().tolist()
    return place


def test_outside_training_the_likeliest_position_is_read_alone(attention: HardAttention):
    attention.eval()
    query, states, mask = draw()
    memory = attention.memory(states, mask)
    assert memory.samples is None
    read, again = attention(query, memory), attention(query, memory)
    assert torch.equal(read.context, again.context)
    chosen = set()
    for row, length in enumerate(LENGTHS[:3]):
        for asks in range(QUERIES):
            distribution = distribution_by_hand(attention, query[row, asks].tolist(), states[row].tolist(), length)
            likeliest = max(range(KEYS), key=distribution.__getitem__)
            chosen.add(likeliest)
            assert torch.equal(read.context[row, asks], states[row, likeliest]), "exactly, not in a mixture"
            assert read.log_prob[row, asks].item() == pytest.approx(math.log(distribution[likeliest]), abs=1e-12)
            assert read.entropy[row, asks].item() == pytest.approx(entropy_by_hand(distribution), abs=1e-12)
    assert len(chosen) > 2


def test_what_is_sampled_is_read_alone_and_told_with_its_log_probability(attention: HardAttention):
    query, states, mask = draw()
    memory = with_samples(attention.memory(states, mask), [True] * BATCH)
    unlikely = 0
    for seed in range(20):
        torch.manual_seed(seed)
        read = attention(query, memory)
        for row, length in enumerate(LENGTHS[:3]):
            for asks in range(QUERIES):
                distribution = distribution_by_hand(attention, query[row, asks].tolist(), states[row].tolist(), length)
                place = place_of(read.context[row, asks], states[row])
                assert place < length
                assert read.log_prob[row, asks].item() == pytest.approx(math.log(distribution[place]), abs=1e-12)
                assert read.entropy[row, asks].item() == pytest.approx(entropy_by_hand(distribution), abs=1e-12)
                unlikely += distribution[place] < max(distribution)
    assert unlikely > 20


@pytest.mark.parametrize("queries", [1, 2])
def test_positions_are_sampled_as_often_as_their_probability_says(queries: int):
    """Scores ln 1, ln 2, ln 3, ln 4 give 1/10, 2/10, 3/10, 4/10; the fifth key is masked.

    Of n = 50,000 draws a share p is off by √(p(1 - p) / n) on average; four times that is 0.0054 to 0.0088.
    """
    draws = 50_000 // queries
    attention = HardAttention(dot(), sampling=1.0)
    query = double([math.log(number) for number in (1, 2, 3, 4, 90)]).expand(draws, queries, 5)
    mask = torch.tensor([[True, True, True, True, False]]).expand(draws, 5)
    torch.manual_seed(1)
    memory = attention.memory(torch.eye(5, dtype=torch.float64).expand(draws, 5, 5), mask)
    assert bool(memory.samples.all())
    context = attention(query, memory).context
    assert bool(((context == 0) | (context == 1)).all())
    for share, found in zip((0.1, 0.2, 0.3, 0.4, 0.0), context.mean(dim=(0, 1)).tolist(), strict=True):
        assert abs(found - share) <= 4 * math.sqrt(share * (1 - share) / 50_000)
    if queries == 2:  # one draw says nothing of the other: 4/10 · 4/10 of both at the last
        both = (context[:, 0, 3] * context[:, 1, 3]).mean().item()
        assert abs(both - 0.16) <= 4 * math.sqrt(0.16 * 0.84 / draws)


def test_a_coin_is_tossed_for_each_source():
    """A share of 0.3 of 20,000, to four times √(0.3 · 0.7 / 20,000); outside training there is nothing to toss."""
    attention, states = HardAttention(dot(), sampling=0.3), torch.randn(20_000, 2, 3)
    torch.manual_seed(1)
    samples = attention.memory(states).samples
    assert samples.shape == (20_000,)
    assert abs(samples.double().mean().item() - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 20_000)
    assert not torch.equal(samples, attention.memory(states).samples)
    assert attention.eval().memory(states).samples is None


def test_sources_that_are_not_sampled_are_read_by_expectation(attention: HardAttention):
    """As by soft attention: nothing is left to chance, so the log-probability is 0."""
    query, states, mask = draw()
    memory = with_samples(attention.memory(states, mask), [False, True, False, False])
    torch.manual_seed(1)
    read = attention(query, memory)
    for row in (0, 2):
        for asks in range(QUERIES):
            distribution = distribution_by_hand(
                attention, query[row, asks].tolist(), states[row].tolist(), LENGTHS[row]
            )
            expected = double(plain.mixture(distribution, states[row].tolist()))
            torch.testing.assert_close(read.context[row, asks], expected, **CLOSE)
            assert read.log_prob[row, asks].item() == 0
            assert read.entropy[row, asks].item() == pytest.approx(entropy_by_hand(distribution), abs=1e-12)
    assert bool((read.log_prob[1] < 0).all())
    for asks in range(QUERIES):
        place_of(read.context[1, asks], states[1])


def test_gradients_of_what_is_told_by_hand():
    """With p = softmax(z): ∂ log p_c / ∂z_i = [i = c] - p_i, and ∂H / ∂z_i = -p_i (log p_i + H)."""
    attention = HardAttention(dot(), sampling=1.0)
    scores = double([[[0.3, -1.2, 0.8, 2.0]]]).requires_grad_()
    torch.manual_seed(1)
    read = attention(scores, attention.memory(torch.eye(4, dtype=torch.float64)[None]))  # keys of one score each
    chosen, distribution = read.context[0, 0].argmax().item(), plain.softmax(scores[0, 0].tolist(), [True] * 4)
    entropy = entropy_by_hand(distribution)
    (of_log_prob,) = torch.autograd.grad(read.log_prob.sum(), scores, retain_graph=True)
    (of_entropy,) = torch.autograd.grad(read.entropy.sum(), scores)
    for place, share in enumerate(distribution):
        assert of_log_prob[0, 0, place].item() == pytest.approx((place == chosen) - share, abs=1e-12)
        assert of_entropy[0, 0, place].item() == pytest.approx(-share * (math.log(share) + entropy), abs=1e-12)


@pytest.mark.parametrize("samples", [True, False, None])
def test_a_choice_has_no_gradient_and_an_expectation_has(attention: HardAttention, samples: bool | None):
    query, states, mask = draw()
    memory = attention.memory(states, mask)
    memory = HardMemory(memory.keys, memory.values, mask, None if samples is None else torch.full((BATCH,), samples))
    of_query, of_values = torch.autograd.grad(
        attention(query, memory).context.square().sum(), (query, memory.values), allow_unused=True
    )
    assert bool(of_values.any())
    assert (of_query is not None and bool(of_query.any())) == (samples is False)


@pytest.mark.parametrize("samples", [True, False, None])
def test_a_source_without_a_key_reads_zero_with_finite_gradients(samples: bool | None):
    torch.manual_seed(1)
    attention = HardAttention(Additive(D_MODEL, D_MODEL, 3).double())
    query, states, mask = draw()
    memory = attention.memory(states, mask)
    read = attention(
        query, HardMemory(memory.keys, memory.values, mask, None if samples is None else torch.full((BATCH,), samples))
    )
    assert not read.context[3].any()
    assert not read.log_prob[3].any()
    assert not read.entropy[3].any()
    assert bool(read.context[:3].any(dim=-1).all())
    (read.context.square().sum() + read.log_prob.sum() + read.entropy.sum()).backward()
    for given in (query, states, *attention.parameters()):
        assert bool(given.grad.isfinite().all())
    assert not query.grad[3].any()
    assert bool(query.grad[0].any())


@pytest.mark.parametrize("samples", [True, False, None])
def test_probabilities_that_vanish_leave_finite_gradients(samples: bool | None):
    """Scores of ±2000 have probabilities of exactly one and zero: nothing is open, and H = 0."""
    attention = HardAttention(dot())
    query = torch.tensor([[[2000.0, -2000.0, 0.0]]], requires_grad=True)
    keys = torch.eye(3)[None]
    read = attention(query, HardMemory(keys, keys, None, None if samples is None else torch.tensor([samples])))
    assert read.context.tolist() == [[[1.0, 0.0, 0.0]]]
    assert read.log_prob.item() == 0
    assert read.entropy.item() == 0
    (read.context.sum() + read.log_prob.sum() + read.entropy.sum()).backward()
    assert query.grad.tolist() == [[[0.0, 0.0, 0.0]]]


def test_a_hard_memory_is_picked_with_its_samples(attention: HardAttention):
    _, states, mask = draw()
    memory = with_samples(attention.memory(states, mask), [True, False, False, True])
    picked = memory.pick(torch.tensor([3, 0, 0, 1]))
    assert isinstance(picked, HardMemory)
    assert picked.samples.tolist() == [True, True, True, False]
    for name in ("keys", "values", "mask"):
        assert torch.equal(getattr(picked, name), getattr(memory, name)[[3, 0, 0, 1]])
    assert attention.eval().memory(states).pick(torch.tensor([2])).samples is None


def test_a_picked_memory_is_read_like_the_rows_it_came_from(attention: HardAttention):
    attention.eval()
    query, states, mask = draw()
    memory, rows = attention.memory(states, mask), torch.tensor([2, 0])
    whole, picked = attention(query, memory), attention(query[rows], memory.pick(rows))
    for one, other in zip(whole, picked, strict=True):
        torch.testing.assert_close(other, one[rows], **CLOSE)


@pytest.mark.parametrize("training", [True, False])
def test_what_was_read_is_heard_and_nothing_is_kept(attention: HardAttention, training: bool):
    attention.train(training)
    query, states, mask = draw()
    before = {name: set(vars(module)) for name, module in attention.named_modules()}
    memory = attention.memory(states, mask)
    if training:
        memory = with_samples(memory, [True, False, True, True])
    with capture(attention) as heard:
        read = attention(query, memory)
    (weights,) = heard.weights[""]
    assert weights.shape == (BATCH, 1, QUERIES, KEYS)
    torch.testing.assert_close(weights[:, 0] @ states, read.context, **CLOSE)
    is_hard = ((weights == 0) | (weights == 1)).flatten(1).all(dim=1)
    assert is_hard.tolist() == [True, not training, True, True]
    assert {name: set(vars(module)) for name, module in attention.named_modules()} == before
