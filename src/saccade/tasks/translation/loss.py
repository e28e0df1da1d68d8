"""The loss of a model that translates: smoothed cross-entropy, R-Drop if asked for, REINFORCE for hard attention."""

import torch
from jaxtyping import Float
from torch import Tensor

from saccade.data.batch import Batch
from saccade.models.build import Model
from saccade.models.settings import AttentionSettings
from saccade.tasks.translation.consistency import consistent_loss_chunked
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.training.loss import log_probs, smoothed_loss_chunked
from saccade.training.reinforce import Baseline, reinforce


class TranslationLoss:
    """Of one model, as DDP, threads and validation call it."""

    def __init__(
        self, model: Model, settings: TranslationTrainingSettings, attention: AttentionSettings | None = None
    ) -> None:
        self.settings, self.attention = settings, attention
        self.baseline = Baseline()
        self._learn = torch.compile(model.learn, dynamic=True) if settings.compile else model.learn

    def __call__(self, model: Model, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss to be differentiated, and the one to be reported: without what sampling adds to it. Both are sums
        over target tokens.
        """
        smoothing, reads_twice = self.settings.label_smoothing, model.training and self.settings.consistency > 0
        uses_bfloat16 = self.settings.precision == "bfloat16"
        with torch.autocast(batch.source.device.type, torch.bfloat16, enabled=uses_bfloat16):
            learned = self._learn(batch.twice() if reads_twice else batch)
        states, output = model.readout(learned.hidden.to(model.output_weight.dtype))
        target = batch.target[batch.target_mask]  # without padding
        if reads_twice:
            hidden = states[batch.target_mask.repeat(2, 1)]
            return consistent_loss_chunked(hidden, output, target, smoothing, self.settings.consistency)
        loss = smoothed_loss_chunked(states[batch.target_mask], output, target, smoothing)
        if learned.log_prob is None:
            return loss, loss.detach()
        assert self.attention is not None, "no other kind samples"
        rewards = log_probs(states, output, batch.target, batch.target_mask)
        shares = {"reward": self.attention.reward, "entropy": self.attention.entropy}
        sampled = reinforce(learned, batch.target_mask, rewards, self.baseline.compare(rewards), **shares)
        return loss + sampled, loss.detach()
