"""A captioner with its loss (Xu et al. 2015, §4): cross-entropy, coverage, and REINFORCE where chance chooses."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from saccade.data.captions import CaptionBatch
from saccade.models.captioner import AnyCaptioner
from saccade.training.loss import log_probs, smoothed_loss_chunked
from saccade.training.reinforce import moved, reinforce


class CaptionLearner(nn.Module):
    """What is trained. Its baseline moves with every batch of a model that leaves something to chance."""

    def __init__(self, model: AnyCaptioner, label_smoothing: float = 0.0, *, uses_baseline: bool = True) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.uses_baseline = uses_baseline
        self.baseline: float | None = None

    def forward(self, batch: CaptionBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss to be differentiated, and the one to be reported: without penalty, and without what chance adds to
        it. Both are sums over target tokens.
        """
        model, mask = self.model, batch.target_mask
        learned = model.learn(batch)
        states, output = model.readout(learned.hidden)
        loss = smoothed_loss_chunked(states[mask], output, batch.target[mask], self.label_smoothing)
        wanted = loss
        if learned.weights is not None and model.settings.coverage:
            wanted = wanted + model.settings.coverage * uncovered(learned.weights, mask)
        if learned.log_prob is not None:
            rewards = log_probs(states, output, batch.target, mask)
            now = float(rewards.mean()) if self.baseline is None else self.baseline
            self.baseline = moved(self.baseline, rewards)
            shares = {"reward": model.settings.reward, "entropy": model.settings.entropy}
            wanted = wanted + reinforce(learned, mask, rewards, now if self.uses_baseline else 0.0, **shares)
        return wanted, loss.detach()


def uncovered(weights: Float[Tensor, "batch target key"], mask: Bool[Tensor, "batch target"]) -> Float[Tensor, ""]:
    """Σᵢ (1 - Σₜ αₜᵢ)² (eq. 14), summed over captions: zero where every cell was looked at once in all."""
    looked = torch.where(mask[..., None], weights, 0.0).sum(dim=1)
    return ((1 - looked) ** 2).sum()
