"""R-Drop by hand, by the readable twin, by differences, and in a learner."""

import math

import pytest
import torch

from saccade.tasks.translation import loss as module
from saccade.tasks.translation.loss import CHUNK, consistent_loss, consistent_loss_chunked
from saccade.training.loss import smoothed_loss

BOTH = [consistent_loss, consistent_loss_chunked]


@pytest.mark.parametrize("loss", BOTH)
def test_the_loss_by_hand(loss):
    """Two tokens; one reading says 1/2, 1/2, the other 4/5, 1/5; wanted is the first.

    Cross-entropies ln 2 and ln 5/4, mean 0.458145. KL(p‖q) = ½ ln(5/8) + ½ ln(5/2) = 0.223144,
    KL(q‖p) = ⅘ ln(8/5) + ⅕ ln(2/5) = 0.192745, half their sum 0.207944; twice that is added.
    """
    hidden = torch.tensor([[0.0, 0.0], [math.log(4), 0.0]], dtype=torch.float64)
    total, said = loss(hidden, torch.eye(2, dtype=torch.float64), torch.tensor([0]), 0.0, 2.0)
    assert said.item() == pytest.approx(0.458145, abs=1e-6)
    assert total.item() == pytest.approx(0.458145 + 2 * 0.207944, abs=1e-6)


def drawn(positions: int, vocab: int = 11, d_model: int = 6) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(positions)
    hidden = torch.randn(2 * positions, d_model, generator=random, dtype=torch.float64, requires_grad=True)
    output = torch.randn(vocab, d_model, generator=random, dtype=torch.float64, requires_grad=True)
    return hidden, output, torch.randint(vocab, (positions,), generator=random)


@pytest.mark.parametrize("weight", [0.5, 3.0])
@pytest.mark.parametrize("positions", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 7])
def test_chunked_is_plain_in_values_and_gradients(positions: int, weight: float):
    found = []
    for loss in BOTH:
        hidden, output, target = drawn(positions)
        total, said = loss(hidden, output, target, 0.1, weight)
        (total / 7).backward()
        found.append((total.detach(), said, hidden.grad, output.grad))
    for plain, chunked in zip(*found, strict=True):
        torch.testing.assert_close(chunked, plain, rtol=1e-11, atol=1e-11)


def test_chunked_gradients_are_those_of_central_differences(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    hidden, output, target = drawn(4, vocab=5, d_model=4)
    loss = lambda *given: consistent_loss_chunked(*given, target, 0.1, 1.5)[0]  # noqa: E731
    assert torch.autograd.gradcheck(loss, (hidden, output))


@pytest.mark.parametrize("loss", BOTH)
def test_readings_that_agree_cost_nothing_more(loss):
    hidden, output, target = drawn(5)
    same = hidden[:5].repeat(2, 1)
    total, said = loss(same, output, target, 0.1, 3.0)
    torch.testing.assert_close(total, said)
    torch.testing.assert_close(total, smoothed_loss(hidden[:5], output, target, 0.1))
