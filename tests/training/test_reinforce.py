"""REINFORCE on a problem so small that every choice can be counted out: its mean is the exact gradient."""

import math
from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from saccade.nn.hard import HardAttention
from saccade.nn.scores import dot, general
from saccade.protocol import Learned
from saccade.training.reinforce import Baseline, reinforce

KEYS, D_MODEL, VOCAB = 4, 3, 5
TARGET = (1, 3)
BATCHES, COPIES = 100, 2_000
ERRORS = 4
"""An estimate further than this many standard errors from the exact gradient is wrong."""


class TwoSteps(nn.Module):
    """A decoder of two steps. What it reads first decides what it asks next, so both choices must be learned together.

    p(s₁, s₂) = p(s₁) p(s₂ | s₁), and log p(y | s) = log p(y₁ | s₁) + log p(y₂ | s₁, s₂).
    """

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.attention = HardAttention(general(D_MODEL, D_MODEL), sampling=1.0)
        self.query = nn.Parameter(torch.randn(D_MODEL))
        self.turn = nn.Parameter(torch.randn(D_MODEL, D_MODEL))
        self.output = nn.Parameter(torch.randn(VOCAB, D_MODEL))
        self.states = nn.Parameter(torch.randn(KEYS, D_MODEL))
        self.double()

    def next_query(self, context: Tensor) -> Tensor:
        return torch.tanh(context @ self.turn + self.query)

    def learn(self, copies: int) -> Learned:
        """Many copies of the one example, each with its own choices."""
        memory = self.attention.memory(self.states.expand(copies, KEYS, D_MODEL))
        first = self.attention(self.query.expand(copies, 1, D_MODEL), memory)
        second = self.attention(self.next_query(first.context), memory)
        hidden = torch.cat([first.context, second.context + first.context.tanh()], dim=1)
        told = [torch.cat([one, other], dim=1) for one, other in zip(first[1:], second[1:], strict=True)]
        return Learned(hidden, *told)

    def log_prob(self, hidden: Tensor) -> Tensor:
        """Of the target, for each copy."""
        said = (hidden @ self.output.T).log_softmax(dim=-1)
        return said[:, 0, TARGET[0]] + said[:, 1, TARGET[1]]

    def expected_log_prob(self) -> Tensor:
        """L = Σ_s p(s) log p(y | s) (Xu et al. 2015, §4.1), all 16 pairs of choices written out."""
        total = torch.zeros((), dtype=torch.float64)
        matrix = self.attention.score.key_map.weight
        first = (self.states @ matrix.T @ self.query).softmax(dim=0)
        for one, other in product(range(KEYS), repeat=2):
            read = self.states[one]
            second = (self.states @ matrix.T @ self.next_query(read)).softmax(dim=0)
            hidden = torch.stack([read, self.states[other] + read.tanh()])
            total = total + first[one] * second[other] * self.log_prob(hidden[None])[0]
        return total


@pytest.fixture(scope="module")
def model() -> TwoSteps:
    return TwoSteps()


@pytest.fixture(scope="module")
def exact(model: TwoSteps) -> Tensor:
    return flat(torch.autograd.grad(-model.expected_log_prob(), list(model.parameters())))


def flat(gradients: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([gradient.flatten() for gradient in gradients])


Surrogate = Callable[[TwoSteps, Learned], Tensor]


def own(baseline: float = 0.0) -> Surrogate:
    """The loss as the training loop adds it up: -log p, and what `reinforce` adds."""

    def loss(model: TwoSteps, learned: Learned) -> Tensor:
        rewards = model.log_prob(learned.hidden)
        mask = torch.ones(learned.hidden.shape[:2], dtype=torch.bool)
        return -rewards.sum() + reinforce(learned, mask, rewards, baseline, reward=1.0, entropy=0.0)

    return loss


def estimates(model: TwoSteps, loss: Surrogate, seed: int) -> Tensor:
    """The gradient of the mean loss of a batch, for each of many batches."""

    def drawn() -> Iterator[Tensor]:
        for _ in range(BATCHES):
            value = loss(model, model.learn(COPIES)) / COPIES
            yield flat(torch.autograd.grad(value, list(model.parameters())))

    torch.manual_seed(seed)
    return torch.stack(list(drawn()))


def errors(found: Tensor, exact: Tensor) -> Tensor:
    """How many standard errors the mean of the estimates is away from the exact gradient."""
    return (found.mean(dim=0) - exact).abs() / (found.std(dim=0) / math.sqrt(len(found)))


@pytest.fixture(scope="module")
def without_baseline(model: TwoSteps) -> Tensor:
    return estimates(model, own(), seed=1)


def test_the_mean_over_samples_is_the_exact_gradient(without_baseline: Tensor, exact: Tensor):
    """200,000 pairs of choices; every parameter's every component."""
    assert exact.abs().min() > 1e-4, "a component of zero would prove little"
    assert errors(without_baseline, exact).max() < ERRORS


def without_reinforce(model: TwoSteps, learned: Learned) -> Tensor:
    return -model.log_prob(learned.hidden).sum()


def of_wrong_sign(model: TwoSteps, learned: Learned) -> Tensor:
    rewards = model.log_prob(learned.hidden)
    return -rewards.sum() + (rewards.detach() * learned.log_prob.sum(dim=1)).sum()


def with_rewards_that_learn(model: TwoSteps, learned: Learned) -> Tensor:
    rewards = model.log_prob(learned.hidden)
    return -rewards.sum() - (rewards * learned.log_prob.sum(dim=1)).sum()


def without_the_first_choice(model: TwoSteps, learned: Learned) -> Tensor:
    rewards = model.log_prob(learned.hidden)
    return -rewards.sum() - (rewards.detach() * learned.log_prob[:, 1]).sum()


@pytest.mark.parametrize("loss", [without_reinforce, of_wrong_sign, with_rewards_that_learn, without_the_first_choice])
def test_a_wrong_loss_would_be_found_out(model: TwoSteps, exact: Tensor, loss: Surrogate):
    assert errors(estimates(model, loss, seed=1), exact).max() > 5 * ERRORS


def test_a_baseline_leaves_the_mean_and_takes_away_most_of_the_noise(
    model: TwoSteps, exact: Tensor, without_baseline: Tensor
):
    """The moving average has settled after 60 batches, where what it began with counts 0.9⁶⁰ < 0.002.

    The variance of the gradient, over all components, is then less than a fifth of what it is without.
    """
    torch.manual_seed(2)
    baseline = Baseline(10.0)  # far off
    with torch.no_grad():
        for _ in range(60):
            baseline.compare(model.log_prob(model.learn(COPIES).hidden))
        mean = model.expected_log_prob().item()
    assert baseline.value == pytest.approx(mean, abs=0.05)

    with_baseline = estimates(model, own(baseline.value), seed=3)
    assert errors(with_baseline, exact).max() < ERRORS
    assert with_baseline.var(dim=0).sum() < without_baseline.var(dim=0).sum() / 5


def chosen(scores: Tensor, seed: int = 1) -> Learned:
    """Choices drawn from these scores, which are told of as attention tells of them."""
    torch.manual_seed(seed)
    attention = HardAttention(dot(), sampling=1.0)
    keys = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(len(scores), -1, -1)
    return Learned(*attention(scores, attention.memory(keys)))


def test_the_gradient_of_the_entropy_by_hand():
    """For p = softmax(z), ∂H/∂z_i = -p_i (log p_i + H), and -λ_e H is added. Of padding nothing is."""
    scores = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    added = reinforce(chosen(scores), mask, torch.ones(3, dtype=torch.float64), 0.0, reward=0.0, entropy=0.3)
    added.backward()
    total = 0.0
    for row, step in product(range(3), range(2)):
        raised = [math.exp(score) for score in scores[row, step].tolist()]
        shares = [each / sum(raised) for each in raised]
        entropy = -sum(share * math.log(share) for share in shares)
        counts = mask[row, step].item()
        total -= 0.3 * entropy * counts
        expected = [0.3 * share * (math.log(share) + entropy) * counts for share in shares]
        assert scores.grad[row, step].tolist() == pytest.approx(expected, abs=1e-12)
    assert added.item() == pytest.approx(total, abs=1e-12)


def test_the_gradient_of_the_reward_by_hand():
    """-λ_r (r - b) Σ_t log p(s_t) is added, with ∂ log p_c / ∂z_i = [i = c] - p_i; rewards themselves learn nothing."""
    scores = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64).requires_grad_()
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    rewards = torch.tensor([-3.0, 0.5, -1.0], dtype=torch.float64, requires_grad=True)
    learned = chosen(scores)
    added = reinforce(learned, mask, rewards, -2.0, reward=0.1, entropy=0.0)
    added.backward()
    assert rewards.grad is None
    total = 0.0
    for row, step in product(range(3), range(2)):
        raised = [math.exp(score) for score in scores[row, step].tolist()]
        shares = [each / sum(raised) for each in raised]
        place = learned.hidden[row, step].argmax().item()
        factor = -0.1 * (rewards[row].item() + 2.0) * mask[row, step].item()
        total += factor * math.log(shares[place])
        expected = [factor * ((other == place) - share) for other, share in enumerate(shares)]
        assert scores.grad[row, step].tolist() == pytest.approx(expected, abs=1e-12)
    assert added.item() == pytest.approx(total, abs=1e-12)


def test_the_baseline_moves_by_a_tenth():
    """It begins as the mean of the first batch, (-1 - 3) / 2 = -2; then 0.9 · -2 + 0.1 · -5 = -2.3, and so on."""
    baseline = Baseline()
    batches = [[-1.0, -3.0], [-4.0, -6.0, -5.0], [0.0], [7.0]]
    compared = [baseline.compare(torch.tensor(rewards)) for rewards in batches]
    assert compared == pytest.approx([-2.0, -2.0, -2.3, -2.07])
