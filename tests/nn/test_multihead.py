"""Multi-head attention against a plain loop of Vaswani et al. 2017, §3.2.2, with the module's own matrices."""

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask

from saccade.nn.attention import Memory
from saccade.nn.capture import capture
from saccade.nn.multihead import MultiHeadAttention

D_MODEL, HEADS = 6, 3
D_HEAD = D_MODEL // HEADS
CLOSE = {"rtol": 0.0, "atol": 1e-12}


@pytest.fixture
def module() -> MultiHeadAttention:
    torch.manual_seed(1)
    module = MultiHeadAttention(D_MODEL, HEADS).double()
    torch.nn.init.normal_(module.projection.bias)
    torch.nn.init.normal_(module.output.bias)
    return module


def states(length: int, seed: int) -> torch.Tensor:
    return torch.randn(2, length, D_MODEL, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def plainly(
    module: MultiHeadAttention, asking: torch.Tensor, asked: torch.Tensor, may: list[list[bool]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Concat(head₁, …, head_h) W^O with head_i = Attention(QW^Q_i, KW^K_i, VW^V_i), for one sequence."""
    matrix, bias = module.projection.weight.tolist(), module.projection.bias.tolist()
    heads, weights = [], []
    for head in range(HEADS):
        own = [slice(part * D_MODEL + head * D_HEAD, part * D_MODEL + (head + 1) * D_HEAD) for part in range(3)]
        queries, keys, values = (
            [plain.product(state, matrix[rows], bias[rows]) for state in given.tolist()]
            for rows, given in zip(own, (asking, asked, asked), strict=True)
        )
        context, weight = plain.attention(queries, keys, values, may)
        heads.append(context)
        weights.append(weight)
    rows = [
        plain.product(
            [number for head in heads for number in head[position]],
            module.output.weight.tolist(),
            module.output.bias.tolist(),
        )
        for position in range(len(asking))
    ]
    return torch.tensor(rows, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64)


@pytest.mark.parametrize("listening", [False, True])
def test_cross_attention_is_the_plain_loop(module: MultiHeadAttention, listening: bool):
    asking, asked = states(3, seed=2), states(5, seed=3)
    mask = padding_mask(torch.tensor([5, 2]), 5)
    queries, memory = module.queries(asking), module.memory(asked, mask)
    if listening:
        with capture(module) as heard:
            found = module(queries, memory)
    else:
        found = module(queries, memory)
    for row in range(2):
        mixed, weights = plainly(module, asking[row], asked[row], [mask[row].tolist()] * 3)
        torch.testing.assert_close(found[row], mixed, **CLOSE)
        if listening:
            torch.testing.assert_close(heard.weights[""][0][row], weights, **CLOSE)


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_plain_loop(module: MultiHeadAttention, causal: bool):
    given = states(4, seed=4)
    queries, memory = module.queries_and_memory(given)
    found = module(queries, memory, causal=causal)
    may = [[not causal or key <= query for key in range(4)] for query in range(4)]
    for row in range(2):
        torch.testing.assert_close(found[row], plainly(module, given[row], given[row], may)[0], **CLOSE)


def test_one_product_for_all_three_is_the_same_as_one_each(module: MultiHeadAttention):
    given, mask = states(4, seed=5), padding_mask(torch.tensor([4, 1]), 4)
    queries, memory = module.queries_and_memory(given, mask)
    alone = module.memory(given, mask)
    torch.testing.assert_close(queries, module.queries(given), **CLOSE)
    torch.testing.assert_close(memory.keys, alone.keys, **CLOSE)
    torch.testing.assert_close(memory.values, alone.values, **CLOSE)
    assert torch.equal(memory.mask, alone.mask)


def test_one_query_at_a_time_is_all_at_once(module: MultiHeadAttention):
    given = states(5, seed=6)
    queries, memory = module.queries_and_memory(given)
    whole = module(queries, memory, causal=True)
    said = Memory(memory.keys[..., :0, :], memory.values[..., :0, :])
    for position in range(5):
        query, new = module.queries_and_memory(given[:, position : position + 1])
        said = said.append(new)
        torch.testing.assert_close(module(query, said, causal=True)[:, 0], whole[:, position], **CLOSE)


def test_nothing_to_attend_to_leaves_the_output_bias_alone(module: MultiHeadAttention):
    mask = torch.tensor([[True] * 4, [False] * 4])
    found = module(module.queries(states(3, seed=7)), module.memory(states(4, seed=8), mask))
    torch.testing.assert_close(found[1], module.output.bias.expand(3, D_MODEL), **CLOSE)


@pytest.mark.parametrize("listening", [False, True])
def test_dropout_is_for_training_only(listening: bool):
    torch.manual_seed(1)
    module = MultiHeadAttention(D_MODEL, HEADS, dropout=0.5).double()
    queries, memory = module.queries_and_memory(states(4, seed=9))

    def ask() -> torch.Tensor:
        if not listening:
            return module(queries, memory)
        with capture(module):
            return module(queries, memory)

    assert not torch.equal(ask(), ask())
    module.eval()
    assert torch.equal(ask(), ask())


def test_the_three_projections_are_drawn_as_one_matrix():
    """Xavier's bound for one matrix d → 3d is √(6 / 4d); for each d → d by itself it would be √(6 / 2d)."""
    torch.manual_seed(1)
    module = MultiHeadAttention(64, 4)
    assert module.projection.weight.abs().max().item() == pytest.approx((6 / 256) ** 0.5, rel=0.01)
    assert not module.projection.bias.any()
    assert not module.output.bias.any()
