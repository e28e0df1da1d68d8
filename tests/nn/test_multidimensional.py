"""Multi-dimensional attention, against loops over its equations (Shen et al. 2018, "Directional Self-Attention")."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask
from torch import nn

from saccade.nn.capture import capture
from saccade.nn.multidimensional import FusionGate, SourceToToken, TokenToToken, directional_mask

CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1, 3), (1, 4, 2), (2, 1, 1), (3, 5, 4)]
"""Batch, positions, features."""
BOTH = pytest.mark.parametrize("looks_ahead", [False, True])


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def drawn(module: nn.Module) -> nn.Module:
    """With parameters that are far from flat, biases included."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.double()


def padding(batch: int, positions: int) -> torch.Tensor:
    """All real, one less, none at all."""
    return padding_mask(torch.tensor([positions, max(1, positions - 1), 0][:batch]), positions)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def softmax(scores: list[float], counts: list[bool]) -> list[float]:
    raised = [math.exp(score) if is_in else 0.0 for score, is_in in zip(scores, counts, strict=True)]
    total = sum(raised)
    return [each / total if total else 0.0 for each in raised]


def token_to_token(module: TokenToToken, states: plain.Matrix, real: list[bool]) -> tuple[list, list]:
    """What is read, [j][feature], and the weights, [feature][j][i].

    f(hᵢ, hⱼ) = c tanh([W₁hᵢ + W₂hⱼ + b]/c) + Mᵢⱼ, c = 5; the forward mask is 0 where i < j and -∞ elsewhere, the
    backward mask 0 where i > j; P is the softmax of f over i, for each feature; sⱼ = Σᵢ P ⊙ hᵢ.
    """
    features, positions = range(len(states[0])), range(len(states))
    of_key = [plain.product(state, module.of_key.weight.tolist(), [0.0] * len(features)) for state in states]
    of_query = [
        plain.product(state, module.of_query.weight.tolist(), module.of_query.bias.tolist()) for state in states
    ]
    weights = [[[0.0 for _ in positions] for _ in positions] for _ in features]
    read = [[0.0 for _ in features] for _ in positions]
    for j in positions:
        counts = [real[i] and (i > j if module.looks_ahead else i < j) for i in positions]
        for k in features:
            scores = [5 * math.tanh((of_key[i][k] + of_query[j][k]) / 5) for i in positions]
            weights[k][j] = softmax(scores, counts)
            read[j][k] = sum(weights[k][j][i] * states[i][k] for i in positions)
    return read, weights


@BOTH
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("batch", "positions", "features"), SHAPES)
def test_token_to_token_is_the_paper_s(batch: int, positions: int, features: int, padded: bool, looks_ahead: bool):
    module, states = drawn(TokenToToken(features, looks_ahead=looks_ahead)), draw(batch, positions, features)
    mask = padding(batch, positions) if padded else None
    with capture(module) as heard:
        found = module(states, mask)
    (weights,) = heard.weights[""]
    for row in range(batch):
        real = [True] * positions if mask is None else mask[row].tolist()
        read, expected = token_to_token(module, states[row].tolist(), real)
        torch.testing.assert_close(found[row], double(read), **CLOSE)
        torch.testing.assert_close(weights[row], double(expected), **CLOSE)


def test_directional_masks_exclude_the_token_itself():
    before = [[False, False, False], [True, False, False], [True, True, False]]
    after = [[False, True, True], [False, False, True], [False, False, False]]
    assert directional_mask(3, looks_ahead=False).tolist() == before
    assert directional_mask(3, looks_ahead=True).tolist() == after


def test_looking_ahead_is_looking_back_at_the_reversed_sequence():
    back, ahead = drawn(TokenToToken(3)), TokenToToken(3, looks_ahead=True).double()
    ahead.load_state_dict(back.state_dict())
    states = draw(2, 5, 3)
    torch.testing.assert_close(ahead(states), back(states.flip(1)).flip(1), **CLOSE)


@BOTH
def test_weights_are_one_or_nothing_for_each_feature_and_zero_where_masked(looks_ahead: bool):
    module, mask = drawn(TokenToToken(4, looks_ahead=looks_ahead)), padding_mask(torch.tensor([5, 3, 0]), 5)
    with capture(module) as heard:
        module(draw(3, 5, 4), mask)
    (weights,) = heard.weights[""]
    assert weights.shape == (3, 4, 5, 5)
    allowed = (directional_mask(5, looks_ahead=looks_ahead) & mask[:, None])[:, None].expand_as(weights)
    assert not weights[~allowed].any()
    assert bool(weights[allowed].all())
    torch.testing.assert_close(weights.sum(dim=-1), allowed.any(dim=-1).double(), **CLOSE)
    assert not torch.isclose(weights[:, 0], weights[:, 1])[allowed[:, 0]].all()  # each feature has its own


@BOTH
def test_a_token_with_none_to_look_at_reads_zero_with_finite_gradients(looks_ahead: bool):
    module, states = drawn(TokenToToken(3, looks_ahead=looks_ahead)), draw(2, 4, 3).requires_grad_()
    mask = torch.tensor([[True] * 4, [False] * 4])
    found = module(states, mask)
    end, others = (3, slice(0, 3)) if looks_ahead else (0, slice(1, 4))
    assert not found[0, end].any()
    assert bool(found[0, others].all())
    assert not found[1].any()
    found.square().sum().backward()
    for given in (states, *module.parameters()):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad.any())
    assert not states.grad[1].any()


def test_scores_are_bounded_however_large_the_states():
    """Within ±5, so that the largest weight is at most e¹⁰ times the smallest."""
    module, states = drawn(TokenToToken(2)), draw(1, 6, 2) * 1e6
    with capture(module) as heard:
        module(states)
    last = heard.weights[""][0][0, :, -1, :-1]
    ratio = last.amax(dim=-1) / last.amin(dim=-1)
    assert ratio.max() == pytest.approx(math.exp(10))


def test_without_preference_a_token_reads_the_mean_of_those_before():
    module, states = TokenToToken(3).double(), draw(2, 4, 3)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    expected = torch.stack([states[:, :j].mean(dim=1) for j in range(1, 4)], dim=1)
    torch.testing.assert_close(module(states)[:, 1:], expected, **CLOSE)


@BOTH
def test_padding_changes_nothing_for_tokens(looks_ahead: bool):
    module, states = drawn(TokenToToken(3, looks_ahead=looks_ahead)), draw(2, 5, 3)
    mask = padding_mask(torch.tensor([5, 3]), 5)
    found = module(states, mask)
    changed = module(states.masked_fill(~mask[..., None], 1e3), mask)
    assert torch.equal(found[mask], changed[mask])
    torch.testing.assert_close(found[1:, :3], module(states[1:, :3]), **CLOSE)


@pytest.mark.parametrize(("batch", "positions", "features"), SHAPES)
def test_fusion_gate_is_the_paper_s(batch: int, positions: int, features: int):
    """F = σ(W₁s + W₂h + b), u = F ⊙ h + (1 - F) ⊙ s."""
    gate, states, read = drawn(FusionGate(features)), draw(batch, positions, features), draw(batch, positions, features)
    found = gate(states, read)
    for row in range(batch):
        for position in range(positions):
            h, s = states[row, position].tolist(), read[row, position].tolist()
            of_read = plain.product(s, gate.of_read.weight.tolist(), gate.of_states.bias.tolist())
            of_states = plain.product(h, gate.of_states.weight.tolist(), [0.0] * features)
            for k in range(features):
                kept = 1 / (1 + math.exp(-of_read[k] - of_states[k]))
                expected = kept * h[k] + (1 - kept) * s[k]
                assert found[row, position, k].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bias", [-1000.0, 1000.0])
def test_a_gate_fully_open_or_closed_gives_one_of_both(bias: float):
    gate, states, read = FusionGate(3).double(), draw(2, 4, 3), draw(2, 4, 3)
    nn.init.constant_(gate.of_states.bias, bias)
    assert torch.equal(gate(states, read), states if bias > 0 else read)


def source_to_token(module: SourceToToken, states: plain.Matrix, real: list[bool]) -> tuple[list, list]:
    """The pooled vector, and the weights, [feature][i].

    f(xᵢ) = Wᵀσ(W₁xᵢ + b₁) + b with σ = ELU, softmax over i for each feature, s = Σᵢ P ⊙ xᵢ.
    """
    scores = []
    for state in states:
        inner = plain.product(state, module.inner.weight.tolist(), module.inner.bias.tolist())
        bent = [each if each > 0 else math.exp(each) - 1 for each in inner]
        scores.append(plain.product(bent, module.outer.weight.tolist(), module.outer.bias.tolist()))
    pooled, weights = [], []
    for k in range(len(states[0])):
        weights.append(softmax([score[k] for score in scores], real))
        pooled.append(sum(weight * state[k] for weight, state in zip(weights[-1], states, strict=True)))
    return pooled, weights


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("batch", "positions", "features"), SHAPES)
def test_source_to_token_is_the_paper_s(batch: int, positions: int, features: int, padded: bool):
    module, states = drawn(SourceToToken(features)), draw(batch, positions, features)
    mask = padding(batch, positions) if padded else None
    with capture(module) as heard:
        found = module(states, mask)
    (weights,) = heard.weights[""]
    assert weights.shape == (batch, features, 1, positions)
    for row in range(batch):
        real = [True] * positions if mask is None else mask[row].tolist()
        pooled, expected = source_to_token(module, states[row].tolist(), real)
        torch.testing.assert_close(found[row], double(pooled), **CLOSE)
        torch.testing.assert_close(weights[row, :, 0], double(expected), **CLOSE)


def test_source_to_token_with_constant_scores_is_the_mean_of_what_is_real():
    module, states = drawn(SourceToToken(3)), draw(2, 4, 3)
    nn.init.zeros_(module.outer.weight)  # what is left is the bias, the same for every token
    torch.testing.assert_close(module(states), states.mean(dim=1), **CLOSE)
    masked = module(states, padding_mask(torch.tensor([4, 2]), 4))
    torch.testing.assert_close(masked, torch.stack([states[0].mean(dim=0), states[1, :2].mean(dim=0)]), **CLOSE)


def test_source_to_token_of_nothing_is_zero_with_finite_gradients():
    module, states = drawn(SourceToToken(3)), draw(3, 4, 3).requires_grad_()
    mask = padding_mask(torch.tensor([4, 2, 0]), 4)
    with capture(module) as heard:
        found = module(states, mask)
    (weights,) = heard.weights[""]
    assert not weights.masked_select(~mask[:, None, None]).any()
    assert not found[2].any()
    ones = torch.ones(2, 3, 1, dtype=torch.float64)
    torch.testing.assert_close(weights[:2].sum(dim=-1), ones, **CLOSE)
    found.square().sum().backward()
    for given in (states, *module.parameters()):
        assert bool(given.grad.isfinite().all())
    assert not states.grad[~mask].any()
    assert bool(states.grad[mask].all())


def test_padding_changes_nothing_for_the_pooled_vector():
    module, states, mask = drawn(SourceToToken(3)), draw(2, 5, 3), padding_mask(torch.tensor([5, 3]), 5)
    found = module(states, mask)
    assert torch.equal(found, module(states.masked_fill(~mask[..., None], 1e3), mask))
    torch.testing.assert_close(found[1:], module(states[1:, :3]), **CLOSE)


@pytest.mark.parametrize("make", [TokenToToken, partial(TokenToToken, looks_ahead=True), SourceToToken])
def test_gradients_are_those_of_central_differences(make: Callable[[int], nn.Module]):
    module, mask = drawn(make(2)), padding_mask(torch.tensor([4, 3, 0]), 4)
    given = draw(3, 4, 2).requires_grad_(), *module.parameters()
    assert torch.autograd.gradcheck(lambda states, *_: module(states, mask), given)


def test_gradients_of_the_fusion_gate():
    gate = drawn(FusionGate(2))
    given = draw(2, 3, 2).requires_grad_(), draw(2, 3, 2).requires_grad_(), *gate.parameters()
    assert torch.autograd.gradcheck(lambda states, read, *_: gate(states, read), given)


@pytest.mark.parametrize("kind", [TokenToToken, SourceToToken])
def test_listening_changes_nothing_and_leaves_nothing(kind: type[nn.Module]):
    module, states, mask = drawn(kind(3)), draw(2, 4, 3), padding_mask(torch.tensor([4, 2]), 4)
    before = {name: set(vars(each)) for name, each in module.named_modules()}
    quiet = module(states, mask)
    with capture(module) as heard:
        assert torch.equal(module(states, mask), quiet)
    assert list(heard.weights) == [""]
    assert not heard.weights[""][0].requires_grad
    assert {name: set(vars(each)) for name, each in module.named_modules()} == before
