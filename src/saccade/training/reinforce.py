"""REINFORCE for sampled choices (Williams 1992), as hard attention uses it (Xu et al. 2015, §4.1).

The gradient of a sampled choice is (reward - baseline) · ∂log p(choice). A baseline that does not depend on the
choice leaves the mean as it is; a good one takes away most of the noise.
"""

from jaxtyping import Bool, Float
from torch import Tensor

from saccade.protocol import Learned

KEPT = 0.9


def reinforce(
    learned: Learned,
    mask: Bool[Tensor, "batch target"],
    rewards: Float[Tensor, " batch"],
    baseline: float,
    *,
    reward: float,
    entropy: float,
) -> Float[Tensor, ""]:
    """What to add to the summed loss, for λ_r = `reward` and λ_e = `entropy`."""
    # A sentence's reward is log p(target | source, choices), and rewards all its choices alike.
    assert learned.log_prob is not None
    assert learned.entropy is not None
    chosen = (learned.log_prob * mask).sum(dim=1)
    advantages = (rewards - baseline).detach()
    return -reward * (advantages * chosen).sum() - entropy * (learned.entropy * mask).sum()


class Baseline:
    """The reward that sampled choices are compared with: a moving average, which checkpoints keep."""

    def __init__(self, value: float | None = None) -> None:
        self.value = value

    def compare(self, rewards: Float[Tensor, " batch"]) -> float:
        """What these rewards are compared with, before they move it: b ← 0.9 b + 0.1 r; the first with their mean."""
        mean = float(rewards.mean())
        before = mean if self.value is None else self.value
        self.value = mean if self.value is None else KEPT * self.value + (1 - KEPT) * mean
        return before
