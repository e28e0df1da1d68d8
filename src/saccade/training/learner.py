"""A model with its loss: all that an update differentiates, in one forward pass, as DDP and FSDP want it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.data.batch import Batch
from saccade.models.build import Model
from saccade.models.settings import AttentionSettings
from saccade.protocol import Learned
from saccade.training.consistency import consistent_loss_chunked
from saccade.training.loss import log_probs, smoothed_loss_chunked
from saccade.training.reinforce import moved, reinforce
from saccade.training.settings import TrainingSettings


class Learner(nn.Module):
    """What is trained. Its baseline moves with every batch of a model that leaves something to chance."""

    def __init__(self, model: Model, settings: TrainingSettings, attention: AttentionSettings | None = None) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = settings.label_smoothing
        self.consistency = settings.consistency
        self._learn = torch.compile(model.learn, dynamic=True) if settings.compile else model.learn
        self.uses_bfloat16 = settings.precision == "bfloat16"
        self.attention = attention
        self.baseline: float | None = None

    def forward(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss to be differentiated, and the one to be reported: without what chance adds to it. Both are sums
        over target tokens.
        """
        reads_twice = self.training and self.consistency > 0
        with torch.autocast(batch.source.device.type, torch.bfloat16, enabled=self.uses_bfloat16):
            learned = self._learn(batch.twice() if reads_twice else batch)
        states, output = self.model.readout(learned.hidden.to(self.model.output_weight.dtype))
        target = batch.target[batch.target_mask]  # padding is left out
        if reads_twice:
            hidden = states[batch.target_mask.repeat(2, 1)]
            return consistent_loss_chunked(hidden, output, target, self.label_smoothing, self.consistency)
        loss = smoothed_loss_chunked(states[batch.target_mask], output, target, self.label_smoothing)
        if learned.log_prob is None:
            return loss, loss.detach()
        rewards = log_probs(states, output, batch.target, batch.target_mask)
        wanted = loss + self._reinforced(learned, batch, rewards)
        return wanted, loss.detach()

    def _reinforced(self, learned: Learned, batch: Batch, rewards: Float[Tensor, " batch"]) -> Tensor:
        """What choices by chance add to the loss. Before there is a baseline, a batch is held against its own mean."""
        assert self.attention is not None, "no other kind leaves anything to chance"
        baseline = float(rewards.mean()) if self.baseline is None else self.baseline
        self.baseline = moved(self.baseline, rewards)
        shares = {"reward": self.attention.reward, "entropy": self.attention.entropy}
        return reinforce(learned, batch.target_mask, rewards, baseline, **shares)
