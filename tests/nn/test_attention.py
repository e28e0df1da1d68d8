"""Attention: the tensors against plain Python, and the fused path against the explicit one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.nn import attention as module
from saccade.nn.attention import Attention, Memory, attend, attend_fused, masked_softmax, real_keys
from saccade.nn.capture import capture
from saccade.nn.normalise import Normalise, masked_entmax, masked_sparsemax
from saccade.nn.scores import Additive, Cosine, Location, Score, dot, general, scaled_dot
from saccade.nn.windows import LocalMonotonic

BATCH, HEADS, D_KEY, D_VALUE = 3, 2, 4, 5
CLOSE = {"rtol": 0.0, "atol": 1e-12}


@dataclass(frozen=True)
class Case:
    queries: int
    keys: int
    padded: bool
    causal: bool

    def draw(self, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, Memory]:
        """Random queries and memory; of the padded ones, the last has no key at all."""
        random = torch.Generator().manual_seed(1)
        query, keys, values = (
            torch.randn(BATCH, HEADS, length, size, generator=random, dtype=dtype, requires_grad=True)
            for length, size in ((self.queries, D_KEY), (self.keys, D_KEY), (self.keys, D_VALUE))
        )
        lengths = torch.tensor([self.keys, max(1, self.keys - 2), 0])
        mask = torch.arange(self.keys) < lengths[:, None] if self.padded else None
        return query, Memory(keys, values, mask)

    def may(self, row: int) -> list[list[bool]]:
        """Which keys each query of a row may attend to, one by one."""
        length = [self.keys, max(1, self.keys - 2), 0][row] if self.padded else self.keys
        past = self.keys - self.queries
        return [
            [key < length and (not self.causal or key <= past + query) for key in range(self.keys)]
            for query in range(self.queries)
        ]


CASES = {
    "all": Case(4, 6, padded=False, causal=False),
    "padded": Case(4, 6, padded=True, causal=False),
    "causal": Case(5, 5, padded=False, causal=True),
    "causal and padded": Case(5, 5, padded=True, causal=True),
    "causal after a past": Case(3, 7, padded=False, causal=True),
    "causal and padded after a past": Case(3, 7, padded=True, causal=True),
    "a single query with a past": Case(1, 6, padded=False, causal=True),
    "a single query, padded": Case(1, 6, padded=True, causal=False),
    "one on one": Case(1, 1, padded=False, causal=True),
    "longer than a block": Case(70, 130, padded=True, causal=True),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def test_explicit_attention_is_equation_1(case: Case):
    query, memory = case.draw()
    found = attend(query, memory, causal=case.causal)
    for row in range(BATCH):
        for head in range(HEADS):
            contexts, weights = plain.attention(
                query[row, head].tolist(),
                memory.keys[row, head].tolist(),
                memory.values[row, head].tolist(),
                case.may(row),
            )
            torch.testing.assert_close(found.context[row, head], double(contexts), **CLOSE)
            torch.testing.assert_close(found.weights[row, head], double(weights), **CLOSE)


def test_fused_is_explicit_in_values_and_gradients(case: Case):
    random = torch.Generator().manual_seed(2)
    upstream = torch.randn(BATCH, HEADS, case.queries, D_VALUE, generator=random, dtype=torch.float64)
    found = []
    for path in (lambda *asked, **how: attend(*asked, **how).context, attend_fused):
        query, memory = case.draw()
        context = path(query, memory, causal=case.causal)
        context.backward(upstream)
        found.append((context.detach(), query.grad, memory.keys.grad, memory.values.grad))
    for explicit, fused in zip(*found, strict=True):
        torch.testing.assert_close(fused, explicit, **CLOSE)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 0.03)])
def test_fused_is_explicit_to_rounding_in_lower_precision(case: Case, dtype: torch.dtype, tolerance: float):
    query, memory = case.draw(dtype)
    explicit = attend(query, memory, causal=case.causal).context
    fused = attend_fused(query, memory, causal=case.causal)
    torch.testing.assert_close(fused, explicit, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("path", [lambda *asked: attend(*asked).context, attend_fused])
@pytest.mark.parametrize("queries", [1, 4])
def test_a_query_with_nothing_to_attend_to_reads_zero(path, queries: int):
    query, memory = Case(queries, 6, padded=True, causal=False).draw()
    context = path(query, memory)
    assert not context[2].any()
    context.square().sum().backward()
    for given in (query, memory.keys, memory.values):
        assert bool(given.grad.isfinite().all())
        assert not given.grad[2].any()
        assert bool(given.grad[:2].any())


def test_weights_of_nothing_to_attend_to_are_zero():
    query, memory = Case(4, 6, padded=True, causal=False).draw()
    weights = attend(query, memory).weights
    assert not weights[2].any()
    torch.testing.assert_close(weights[:2].sum(dim=-1), torch.ones(2, HEADS, 4, dtype=torch.float64), **CLOSE)


@pytest.mark.parametrize("path", [lambda *asked, **how: attend(*asked, **how).context, attend_fused])
def test_gradients_are_those_of_central_differences(path):
    query, memory = Case(3, 4, padded=True, causal=True).draw()

    def context(query, keys, values):
        return path(query, Memory(keys, values, memory.mask), causal=True)

    assert torch.autograd.gradcheck(context, (query, memory.keys, memory.values))


def test_what_comes_after_does_not_reach_back():
    query, memory = Case(4, 4, padded=False, causal=True).draw()
    changed = memory.values.detach().clone()
    changed[:, :, 2:] += 1
    for path in (lambda *asked, **how: attend(*asked, **how).context, attend_fused):
        before = path(query, memory, causal=True)
        after = path(query, Memory(memory.keys, changed), causal=True)
        assert torch.equal(before[:, :, :2], after[:, :, :2])
        assert not torch.isclose(before[:, :, 2:], after[:, :, 2:]).any()


def test_dropout_mixes_with_dropped_weights_and_reports_whole_ones():
    query, memory = Case(4, 6, padded=False, causal=False).draw()
    torch.manual_seed(1)
    whole, dropped = attend(query, memory), attend(query, memory, dropout=0.5)
    assert torch.equal(dropped.weights, whole.weights)
    assert not torch.isclose(dropped.context, whole.context).all()


def test_masked_softmax_by_hand():
    """e^0 : e^(ln 3) : e^(ln 4) = 1 : 3 : 4, so 1/8, 3/8, 1/2; without the last, 1/4 and 3/4."""
    scores = double([[0.0, math.log(3), math.log(4)]] * 3)
    mask = torch.tensor([[True, True, True], [True, True, False], [False, False, False]])
    expected = double([[1 / 8, 3 / 8, 1 / 2], [1 / 4, 3 / 4, 0.0], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(masked_softmax(scores, mask), expected, **CLOSE)
    torch.testing.assert_close(masked_softmax(scores, None), expected[:1].expand(3, 3), **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_masked_softmax_of_enormous_scores_is_finite_and_masked_exactly(dtype: torch.dtype):
    huge = torch.finfo(dtype).max / 2
    scores = torch.tensor([[huge, -huge, huge], [-huge, huge, -huge]], dtype=dtype, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    weights = masked_softmax(scores, mask)
    assert weights.tolist() == [[1, 0, 0], [1, 0, 0]]
    weights.square().sum().backward()
    assert bool(scores.grad.isfinite().all())


def test_a_masked_score_gets_no_gradient():
    scores = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False, True, True, False])
    (masked_softmax(scores, mask) * torch.randn(4, 5, dtype=torch.float64)).sum().backward()
    assert not scores.grad[:, ~mask].any()
    assert bool(scores.grad[:, mask].all())


def test_a_memory_grows_and_is_picked_from():
    _, memory = Case(1, 3, padded=False, causal=False).draw()
    grown = memory.append(Memory(memory.keys[..., :1, :], memory.values[..., :1, :]))
    assert grown.keys.shape == (BATCH, HEADS, 4, D_KEY)
    assert torch.equal(grown.values[..., 3, :], memory.values[..., 0, :])
    assert torch.equal(grown.pick(torch.tensor([2, 0, 0, 1])).keys, grown.keys[[2, 0, 0, 1]])

    _, masked = Case(1, 3, padded=True, causal=False).draw()
    assert torch.equal(masked.pick(torch.tensor([2, 0])).mask, masked.mask[[2, 0]])
    with pytest.raises(AssertionError):
        memory.append(masked)


def test_keys_that_are_the_values_are_picked_once():
    states = torch.randn(3, 4, 5)
    picked = Memory(states, states).pick(torch.tensor([1, 1]))
    assert picked.values is picked.keys


# Attention of one head with any score

LENGTHS = [6, 4, 0]
INNER_PRODUCTS: dict[str, Callable[[], Score]] = {
    "dot": dot,
    "scaled dot": lambda: scaled_dot(D_KEY),
    "general": lambda: general(D_KEY, D_KEY),
    "cosine": Cosine,
}
SCORES = INNER_PRODUCTS | {
    "additive": lambda: Additive(D_KEY, D_KEY, 3),
    "location": lambda: Location(D_KEY, 6),
}
NORMALISE: dict[Normalise, Callable[..., list[float]]] = {
    masked_softmax: plain.softmax,
    masked_sparsemax: plain.sparsemax,
    masked_entmax: plain.entmax,
}


def one_head(score: str, **options: object) -> Attention:
    torch.manual_seed(1)
    return Attention(SCORES[score](), **options).double()  # type: ignore[arg-type]


def asked(queries: int = 4, *, padded: bool = True) -> tuple[torch.Tensor, ...]:
    """Queries, states, values of another size, and a mask; of the padded ones, the last has no key at all."""
    random = torch.Generator().manual_seed(1)
    given = (
        torch.randn(3, length, size, generator=random, dtype=torch.float64, requires_grad=True)
        for length, size in ((queries, D_KEY), (6, D_KEY), (6, D_VALUE))
    )
    return *given, padding_mask(torch.tensor(LENGTHS), 6) if padded else None


@pytest.mark.parametrize("normalise", NORMALISE)
@pytest.mark.parametrize("score", SCORES)
def test_context_and_weights_of_any_score_are_the_plain_loop(score: str, normalise: Normalise):
    attention, (query, states, values, mask) = one_head(score, normalise=normalise), asked()
    memory = replace(attention.memory(states, mask), values=values)
    found, read = attention.attend(query, memory), attention(query, memory)
    assert read.log_prob is None
    assert read.entropy is None
    scores = attention.score(query, memory.keys)
    for row in range(3):
        for asks in range(4):
            weights = NORMALISE[normalise](scores[row, asks].tolist(), mask[row].tolist())
            torch.testing.assert_close(found.weights[row, asks], double(weights), **CLOSE)
            context = double(plain.mixture(weights, values[row].tolist()))
            torch.testing.assert_close(found.context[row, asks], context, **CLOSE)
            torch.testing.assert_close(read.context[row, asks], context, **CLOSE)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("score", INNER_PRODUCTS)
def test_every_inner_product_is_the_same_fused_and_explicit(score: str, queries: int, padded: bool):
    upstream = torch.randn(3, queries, D_VALUE, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = []
    for is_fused in (True, False):
        attention, (query, states, values, mask) = one_head(score), asked(queries, padded=padded)
        memory = replace(attention.memory(states, mask), values=values)
        context = attention(query, memory).context if is_fused else attention.attend(query, memory).context
        context.backward(upstream)
        given = (query, states, values, *attention.parameters())
        assert all(bool(each.grad.any()) for each in given)
        found.append((context.detach(), *(each.grad for each in given)))
    for fused, explicit in zip(*found, strict=True):
        torch.testing.assert_close(fused, explicit, **CLOSE)


@pytest.mark.parametrize(
    ("score", "options", "is_fused"),
    [
        *((score, {}, True) for score in INNER_PRODUCTS),
        ("additive", {}, False),
        ("location", {}, False),
        ("dot", {"normalise": masked_sparsemax}, False),
        ("dot", {"normalise": masked_entmax}, False),
        ("dot", {"windows": LocalMonotonic(2)}, False),
    ],
)
def test_inner_products_under_a_softmax_are_fused_while_nobody_listens(
    score: str, options: dict[str, object], is_fused: bool, monkeypatch: pytest.MonkeyPatch
):
    calls = []
    monkeypatch.setattr(
        module, "attend_fused", lambda *given, **how: calls.append(given) or attend_fused(*given, **how)
    )
    attention, (query, states, _, mask) = one_head(score, **options), asked()
    memory = attention.memory(states, mask)
    quiet = attention(query, memory).context
    assert len(calls) == is_fused
    with capture(attention):
        listening = attention(query, memory).context
    assert len(calls) == is_fused, "who listens wants weights, which only the explicit path has"
    torch.testing.assert_close(listening, quiet, **CLOSE)


@pytest.mark.parametrize("score", SCORES)
def test_weights_are_heard_as_those_of_one_head(score: str):
    attention, (query, states, _, mask) = one_head(score), asked()
    memory = attention.memory(states, mask)
    with capture(attention) as heard:
        attention(query, memory)
        attention(query[:, :1], memory)
    assert list(heard.weights) == [""]
    whole, first = heard.weights[""]
    assert whole.shape == (3, 1, 4, 6)
    assert first.shape == (3, 1, 1, 6)
    torch.testing.assert_close(whole[:, 0], attention.attend(query, memory).weights, **CLOSE)
    torch.testing.assert_close(first, whole[:, :, :1], **CLOSE)


@pytest.mark.parametrize("normalise", NORMALISE)
@pytest.mark.parametrize("score", SCORES)
def test_a_source_without_a_key_reads_zero_with_finite_gradients(score: str, normalise: Normalise):
    attention, (query, states, values, mask) = one_head(score, normalise=normalise), asked()
    for path in (attention, attention.attend):
        attention.zero_grad()
        query.grad = states.grad = values.grad = None
        found = path(query, replace(attention.memory(states, mask), values=values))
        assert not found.context[2].any()
        found.context.square().sum().backward()
        for given in (query, values, *attention.parameters()):
            assert bool(given.grad.isfinite().all())
            assert bool(given.grad[:2].any())
        assert not query.grad[2].any()
        assert not values.grad[2].any()
        assert states.grad is None or bool(states.grad.isfinite().all())


@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_any_score_are_those_of_central_differences(score: str):
    attention, (query, states, values, mask) = one_head(score), asked(2)

    def context(query: torch.Tensor, states: torch.Tensor, values: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return attention(query, replace(attention.memory(states, mask), values=values)).context

    assert torch.autograd.gradcheck(context, (query, states, values, *attention.parameters()))


def test_a_memory_without_a_mask_has_only_real_keys():
    _, states, values, mask = asked()
    assert real_keys(Memory(states, values)).tolist() == [[True] * 6] * 3
    assert real_keys(Memory(states, values, mask)) is mask


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)
