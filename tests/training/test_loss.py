"""Label smoothing by hand, and the chunked loss against the plain one."""

import math

import pytest
import torch

from saccade.training import loss as losses
from saccade.training.loss import CHUNK, log_probs, smoothed_loss, smoothed_loss_chunked

BOTH = [smoothed_loss, smoothed_loss_chunked]


@pytest.mark.parametrize("loss", BOTH)
@pytest.mark.parametrize(
    ("smoothing", "expected"),
    [(0.0, 0.693147), (0.1, 0.779790), (0.4, 1.039721)],
)
def test_smoothed_loss_by_hand(loss, smoothing: float, expected: float):
    """Four tokens, scores ln 4, ln 2, ln 1, ln 1, so probabilities 1/2, 1/4, 1/8, 1/8; wanted is the first.

    -log p is ln 2 · (1, 2, 3, 3), with mean ln 2 · 9/4. Smoothing ε takes the share ε of the wanted token's
    weight and gives it to all four alike: (1 - ε) · ln 2 + ε · ln 2 · 9/4 = ln 2 · (1 + 5/4 ε).
        ε = 0    ln 2 · 1      = 0.693147
        ε = 0.1  ln 2 · 1.125  = 0.779790
        ε = 0.4  ln 2 · 1.5    = 1.039721
    """
    hidden = torch.tensor([[math.log(4), math.log(2), 0.0, 0.0]], dtype=torch.float64)
    found = loss(hidden, torch.eye(4, dtype=torch.float64), torch.tensor([0]), smoothing)
    assert found.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("loss", BOTH)
def test_its_gradient_by_hand(loss):
    """With the identity as output, the gradient of the scores is p - q. With ε = 0.2 of four tokens, q is
    0.8 + 0.05 for the wanted token and 0.05 for the others; p is 1/4 for each: (-0.6, 0.2, 0.2, 0.2).
    """
    hidden = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    loss(hidden, torch.eye(4, dtype=torch.float64), torch.tensor([0]), 0.2).backward()
    assert hidden.grad.tolist()[0] == pytest.approx([-0.6, 0.2, 0.2, 0.2])


def drawn(positions: int, vocab: int = 11, d_model: int = 6) -> tuple[torch.Tensor, ...]:
    random = torch.Generator().manual_seed(positions)
    hidden = torch.randn(positions, d_model, generator=random, dtype=torch.float64, requires_grad=True)
    output = torch.randn(vocab, d_model, generator=random, dtype=torch.float64, requires_grad=True)
    return hidden, output, torch.randint(vocab, (positions,), generator=random)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("positions", [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 7])
def test_chunked_is_plain_in_values_and_gradients(positions: int, smoothing: float):
    found = []
    for loss in BOTH:
        hidden, output, target = drawn(positions)
        value = loss(hidden, output, target, smoothing)
        (value / 7).backward()  # a gradient other than 1 from above
        found.append((value.detach(), hidden.grad, output.grad))
    for plain, chunked in zip(*found, strict=True):
        torch.testing.assert_close(chunked, plain, rtol=1e-12, atol=1e-12)


def test_chunked_adds_to_the_gradient_of_a_tied_output():
    """The table that makes the scores also made the states."""
    found = []
    for loss in BOTH:
        _, table, target = drawn(9)
        loss(table[target].tanh(), table, target, 0.1).backward()
        found.append(table.grad)
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)


def test_chunked_gradients_are_those_of_central_differences(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(losses, "CHUNK", 3)
    hidden, output, target = drawn(8, vocab=5, d_model=4)
    assert torch.autograd.gradcheck(lambda *given: smoothed_loss_chunked(*given, target, 0.1), (hidden, output))


@pytest.mark.parametrize("loss", BOTH)
def test_enormous_scores_are_no_overflow(loss):
    hidden = torch.tensor([[1000.0, 0.0]], requires_grad=True)
    value = loss(hidden, torch.eye(2), torch.tensor([1]), 0.0)
    value.backward()
    assert value.item() == pytest.approx(1000)
    assert hidden.grad.tolist()[0] == pytest.approx([1, -1])


def test_nothing_to_say_has_no_loss():
    hidden, output, target = drawn(0)
    value = smoothed_loss_chunked(hidden, output, target, 0.1)
    value.backward()
    assert value.item() == 0
    assert not output.grad.any()


def test_log_probs_are_those_of_whole_targets():
    """Padding is not said, so a target of padding alone has log 1 = 0; and nothing flows back."""
    random = torch.Generator().manual_seed(1)
    hidden = torch.randn(4, 3, 6, generator=random, dtype=torch.float64, requires_grad=True)
    output = torch.randn(11, 6, generator=random, dtype=torch.float64, requires_grad=True)
    target = torch.randint(11, (4, 3), generator=random)
    mask = torch.tensor([[True, True, True], [True, False, False], [False, False, False], [True, True, False]])
    found = log_probs(hidden, output, target, mask)
    assert not found.requires_grad
    said = (hidden @ output.T).log_softmax(dim=-1)
    for row in range(4):
        expected = sum(said[row, place, target[row, place]].item() for place in range(3) if mask[row, place])
        assert found[row].item() == pytest.approx(expected, abs=1e-12)


def test_log_probs_by_hand():
    """Scores ln 4, ln 2, ln 1, ln 1 are probabilities 1/2, 1/4, 1/8, 1/8: the first and the last, ln 1/16."""
    hidden = torch.tensor([[[math.log(4), math.log(2), 0.0, 0.0]] * 2], dtype=torch.float64)
    found = log_probs(hidden, torch.eye(4, dtype=torch.float64), torch.tensor([[0, 3]]), torch.tensor([[True, True]]))
    assert found.tolist() == pytest.approx([-4 * math.log(2)])
