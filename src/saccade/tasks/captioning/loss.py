"""The loss of a captioner (Xu et al. 2015, §4): cross-entropy, coverage, and REINFORCE for hard attention."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from saccade.tasks.captioning.batch import CaptionBatch
from saccade.tasks.captioning.model import AnyCaptioner
from saccade.training.loss import log_probs, smoothed_loss_chunked
from saccade.training.reinforce import Baseline, reinforce


class CaptionLoss:
    """Of one model. Without a baseline, rewards count in full: an experiment shows what it is worth."""

    def __init__(self, label_smoothing: float = 0.0, *, uses_baseline: bool = True) -> None:
        self.label_smoothing = label_smoothing
        self.uses_baseline = uses_baseline
        self.baseline = Baseline()

    def __call__(self, model: AnyCaptioner, batch: CaptionBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss to be differentiated, and the one to be reported: without penalty, and without what sampling adds
        to it. Both are sums over target tokens.
        """
        mask = batch.target_mask
        learned = model.learn(batch)
        states, output = model.readout(learned.hidden)
        loss = smoothed_loss_chunked(states[mask], output, batch.target[mask], self.label_smoothing)
        wanted = loss
        if learned.weights is not None and model.settings.coverage:
            wanted = wanted + model.settings.coverage * uncovered(learned.weights, mask)
        if learned.log_prob is not None:
            rewards = log_probs(states, output, batch.target, mask)
            baseline = self.baseline.compare(rewards)
            shares = {"reward": model.settings.reward, "entropy": model.settings.entropy}
            wanted = wanted + reinforce(learned, mask, rewards, baseline if self.uses_baseline else 0.0, **shares)
        return wanted, loss.detach()


def uncovered(weights: Float[Tensor, "batch target key"], mask: Bool[Tensor, "batch target"]) -> Float[Tensor, ""]:
    """Σᵢ (1 - Σₜ αₜᵢ)² (eq. 14), summed over captions: zero where every cell was looked at once in all."""
    looked = torch.where(mask[..., None], weights, 0.0).sum(dim=1)
    return ((1 - looked) ** 2).sum()
