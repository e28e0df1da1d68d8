"""Co-attention, against loops over equations 3 to 6 (Lu et al. 2016)."""

import math

import pytest
import torch
from tests.nn import plain
from tests.nn.padding import padding_mask
from torch import nn

from saccade.nn.capture import capture
from saccade.nn.coattention import AlternatingCoAttention, ParallelCoAttention

D_IMAGE, D_QUESTION, D_HIDDEN = 4, 3, 5
CLOSE = {"rtol": 0.0, "atol": 1e-12}
SHAPES = [(1, 1, 1), (1, 4, 3), (2, 1, 3), (2, 4, 1), (3, 4, 5)]
"""Batch, regions, words."""
KINDS = {"parallel": ParallelCoAttention, "alternating": AlternatingCoAttention}


def double(numbers: list) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def drawn(module: nn.Module) -> nn.Module:
    """With parameters that are far from flat, biases included."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.double()


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


@pytest.fixture(params=KINDS)
def coattention(request: pytest.FixtureRequest, seed: None) -> nn.Module:
    return drawn(KINDS[request.param](D_IMAGE, D_QUESTION, D_HIDDEN))


def softmax(scores: list[float], real: list[bool]) -> list[float]:
    raised = [math.exp(score) if is_real else 0.0 for score, is_real in zip(scores, real, strict=True)]
    total = sum(raised)
    return [each / total if total else 0.0 for each in raised]


def mixture(weights: list[float], states: plain.Matrix) -> list[float]:
    return [
        sum(weight * state[place] for weight, state in zip(weights, states, strict=True))
        for place in range(len(states[0]))
    ]


def mapped(linear: nn.Linear, state: plain.Vector) -> list[float]:
    bias = [0.0] * linear.out_features if linear.bias is None else linear.bias.tolist()
    return plain.product(state, linear.weight.tolist(), bias)


def score(v: torch.Tensor, hidden: list[float]) -> float:
    return sum(weight * math.tanh(number) for weight, number in zip(v.tolist(), hidden, strict=True))


Sides = tuple[list[float], list[float], list[float], list[float]]
"""Weights over regions, weights over words, what is read in the image, what is read in the question."""


def parallel(
    module: ParallelCoAttention, image: plain.Matrix, question: plain.Matrix, seen: list[bool], said: list[bool]
) -> Sides:
    """Eq. 3, C = tanh(QᵀW_bV); eq. 4, the hidden states and weights; eq. 5, what is read. Sums go over what is real."""
    regions, words = range(len(image)), range(len(question))
    w_b = module.affinity.weight.tolist()
    fits = [[0.0 for _ in regions] for _ in words]
    for t in words:
        for n in regions:
            total = 0.0
            for a in range(D_QUESTION):
                for b in range(D_IMAGE):
                    total += question[t][a] * w_b[a][b] * image[n][b]
            fits[t][n] = math.tanh(total)
    of_image = [mapped(module.of_image, region) for region in image]
    of_question = [mapped(module.of_question, word) for word in question]
    scores_image, scores_question = [], []
    for n in regions:
        led = [sum(of_question[t][k] * fits[t][n] for t in words if said[t]) for k in range(D_HIDDEN)]
        scores_image.append(score(module.image.v, [a + b for a, b in zip(of_image[n], led, strict=True)]))
    for t in words:
        led = [sum(of_image[n][k] * fits[t][n] for n in regions if seen[n]) for k in range(D_HIDDEN)]
        scores_question.append(score(module.question.v, [a + b for a, b in zip(of_question[t], led, strict=True)]))
    over_regions, over_words = softmax(scores_image, seen), softmax(scores_question, said)
    return over_regions, over_words, mixture(over_regions, image), mixture(over_words, question)


def alternating(
    module: AlternatingCoAttention, image: plain.Matrix, question: plain.Matrix, seen: list[bool], said: list[bool]
) -> Sides:
    """Eq. 6, H = tanh(W_xX + (W_g g)1ᵀ), a = softmax(wᵀH), x̂ = Σax: on Q with g = 0, on V with ŝ, on Q with v̂."""
    inner, v = module.first.attention.score.key_map[0], module.first.query
    first = softmax([score(v, mapped(inner, word)) for word in question], said)
    guide = mixture(first, question)

    def led(additive: nn.Module, guide: list[float], states: plain.Matrix, real: list[bool]) -> list[float]:
        of_guide = mapped(additive.of_query, guide)
        hidden = [[a + b for a, b in zip(mapped(additive.of_key, state), of_guide, strict=True)] for state in states]
        return softmax([score(additive.v, each) for each in hidden], real)

    over_regions = led(module.image.score, guide, image, seen)
    found = mixture(over_regions, image)
    over_words = led(module.question.score, found, question, said)
    return over_regions, over_words, found, mixture(over_words, question)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("batch", "regions", "words"), SHAPES)
def test_both_sides_are_the_paper_s(coattention: nn.Module, batch: int, regions: int, words: int, padded: bool):
    image, question = draw(batch, regions, D_IMAGE), draw(batch, words, D_QUESTION)
    image_mask = padding_mask(torch.tensor([max(1, regions - row) for row in range(batch)]), regions)
    question_mask = padding_mask(torch.tensor([max(1, words - 2 * row) for row in range(batch)]), words)
    masks = (image_mask, question_mask) if padded else (None, None)
    with capture(coattention) as heard:
        found = coattention(image, question, *masks)
    loops = parallel if isinstance(coattention, ParallelCoAttention) else alternating
    for row in range(batch):
        seen, said = (
            [True] * length if mask is None else mask[row].tolist()
            for length, mask in zip((regions, words), masks, strict=True)
        )
        expected = loops(coattention, image[row].tolist(), question[row].tolist(), seen, said)
        over_regions, over_words = (heard.weights[side][0][row, 0, 0] for side in ("image", "question"))
        for mine, theirs in zip(
            (over_regions, over_words, found.image[row], found.question[row]), expected, strict=True
        ):
            torch.testing.assert_close(mine, double(theirs), **CLOSE)


def test_parallel_is_the_same_from_either_side():
    """Swap image and question, and the parameters of one with the other's: W_b is transposed."""
    one, other = drawn(ParallelCoAttention(4, 3, 5)), drawn(ParallelCoAttention(3, 4, 5))
    with torch.no_grad():
        other.affinity.weight.copy_(one.affinity.weight.T)
        other.of_image.weight.copy_(one.of_question.weight)
        other.of_question.weight.copy_(one.of_image.weight)
        other.image.v.copy_(one.question.v)
        other.question.v.copy_(one.image.v)
    image, question = draw(2, 6, 4), draw(2, 5, 3)
    masks = padding_mask(torch.tensor([6, 4]), 6), padding_mask(torch.tensor([2, 5]), 5)
    here, there = one(image, question, *masks), other(question, image, *masks[::-1])
    torch.testing.assert_close(here.image, there.question, **CLOSE)
    torch.testing.assert_close(here.question, there.image, **CLOSE)


@pytest.mark.parametrize("side", [0, 1])
def test_each_side_is_led_by_the_other(coattention: nn.Module, side: int):
    sides = [draw(2, 4, D_IMAGE), draw(2, 5, D_QUESTION)]
    before = coattention(*sides)[side]
    sides[1 - side] = sides[1 - side] + 1
    assert not torch.isclose(coattention(*sides)[side], before).any()


def test_the_first_pass_hears_the_question_alone():
    coattention, question = drawn(AlternatingCoAttention(D_IMAGE, D_QUESTION, D_HIDDEN)), draw(2, 5, D_QUESTION)
    with capture(coattention) as heard:
        coattention(draw(2, 4, D_IMAGE), question)
        coattention(draw(2, 4, D_IMAGE), question)
    assert torch.equal(*heard.weights["first.attention"])
    assert not torch.isclose(*heard.weights["question"]).all()


def test_padding_on_either_side_changes_nothing(coattention: nn.Module):
    image, question = draw(2, 4, D_IMAGE), draw(2, 5, D_QUESTION)
    masks = padding_mask(torch.tensor([4, 2]), 4), padding_mask(torch.tensor([3, 5]), 5)
    found = coattention(image, question, *masks)
    stuffed = (each.masked_fill(~mask[..., None], 1e3) for each, mask in zip((image, question), masks, strict=True))
    for before, after in zip(found, coattention(*stuffed, *masks), strict=True):
        assert torch.equal(before, after)
    alone = coattention(image[:1], question[:1, :3]), coattention(image[1:, :2], question[1:])
    for before, *after in zip(found, *alone, strict=True):
        torch.testing.assert_close(before, torch.cat(after), **CLOSE)


def test_weights_sum_to_one_and_are_zero_where_masked(coattention: nn.Module):
    masks = padding_mask(torch.tensor([4, 2, 0]), 4), padding_mask(torch.tensor([0, 5, 3]), 5)
    with capture(coattention) as heard:
        coattention(draw(3, 4, D_IMAGE), draw(3, 5, D_QUESTION), *masks)
    sides = {"image": masks[0], "question": masks[1]}
    if isinstance(coattention, AlternatingCoAttention):
        sides["first.attention"] = masks[1]
    assert heard.weights.keys() == sides.keys()
    for side, mask in sides.items():
        (weights,) = heard.weights[side]
        assert weights.shape == (3, 1, 1, mask.shape[1])
        assert torch.equal(weights[:, 0, 0] > 0, mask)
        torch.testing.assert_close(weights.sum(dim=-1).flatten(), mask.any(dim=-1).double(), **CLOSE)


def test_an_empty_side_reads_zero_and_does_not_lead_the_other(coattention: nn.Module):
    """No image in the first example, no question in the second; the third has both."""
    image, question = draw(3, 4, D_IMAGE).requires_grad_(), draw(3, 5, D_QUESTION).requires_grad_()
    masks = torch.tensor([[False] * 4, [True] * 4, [True] * 4]), torch.tensor([[True] * 5, [False] * 5, [True] * 5])
    found = coattention(image, question, *masks)
    assert not found.image[0].any()
    assert not found.question[1].any()
    assert bool(found.image[1:].all())
    assert bool(found.question[::2].all())
    other = coattention(image + 1, question, *masks)
    assert torch.equal(other.question[0], found.question[0])
    (found.image.square().sum() + found.question.square().sum()).backward()
    for given in (image, question, *coattention.parameters()):
        assert bool(given.grad.isfinite().all())
        assert bool(given.grad.any())
    assert not image.grad[0].any()
    assert not question.grad[1].any()


def test_gradients_are_those_of_central_differences(coattention: nn.Module):
    masks = padding_mask(torch.tensor([3, 2, 0]), 3), padding_mask(torch.tensor([1, 2, 2]), 2)

    def sides(image: torch.Tensor, question: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(coattention(image, question, *masks))

    given = draw(3, 3, D_IMAGE).requires_grad_(), draw(3, 2, D_QUESTION).requires_grad_()
    assert torch.autograd.gradcheck(sides, (*given, *coattention.parameters()))


def test_listening_changes_nothing_and_leaves_nothing(coattention: nn.Module):
    given = draw(2, 4, D_IMAGE), draw(2, 5, D_QUESTION), None, padding_mask(torch.tensor([5, 2]), 5)
    before = {name: set(vars(each)) for name, each in coattention.named_modules()}
    quiet = coattention(*given)
    model = nn.ModuleDict({"reader": coattention})
    with capture(model) as heard:
        found = coattention(*given)
    for loud, silent in zip(found, quiet, strict=True):
        torch.testing.assert_close(loud, silent, **CLOSE)
    assert {"reader.image", "reader.question"} <= heard.weights.keys()
    assert not any(weights.requires_grad for calls in heard.weights.values() for weights in calls)
    assert {name: set(vars(each)) for name, each in coattention.named_modules()} == before
