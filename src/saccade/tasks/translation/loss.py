"""The loss of a model that translates: smoothed cross-entropy, R-Drop if asked for, REINFORCE for hard attention.

R-Drop (Liang et al. 2021): a batch is read twice, dropout differs, and the two readings are to agree.

    mean of both cross-entropies + consistency · ½ (KL(p‖q) + KL(q‖p))

The paper adds both cross-entropies up, so that its α is twice our `consistency`.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import linear

from saccade.data.batch import Batch
from saccade.models.build import Model
from saccade.models.settings import AttentionSettings
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.training.loss import log_probs, smoothed_loss, smoothed_loss_chunked
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


CHUNK = 128


def consistent_loss(
    hidden: Float[Tensor, "twice d_model"],
    output: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, " positions"],
    smoothing: float,
    consistency: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss, and the cross-entropy in it alone, summed over positions: the readable twin.

    The first half of `hidden` is one reading of the positions, the second half is the other.
    """
    p, q = (linear(half, output).log_softmax(dim=1) for half in hidden.chunk(2))
    said = smoothed_loss(hidden, output, target.repeat(2), smoothing) / 2
    divergence = ((p.exp() - q.exp()) * (p - q)).sum() / 2
    return said + consistency * divergence, said.detach()


def consistent_loss_chunked(
    hidden: Float[Tensor, "twice d_model"],
    output: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, " positions"],
    smoothing: float,
    consistency: float,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """`consistent_loss` with its gradients, some positions at a time, so that the scores never exist as a whole."""
    loss: Tensor
    said: Tensor
    loss, said = _Chunked.apply(hidden, output, target, smoothing, consistency)  # type: ignore[no-untyped-call]
    return loss, said.detach()


class _Chunked(torch.autograd.Function):
    """With r = log p - log q, the gradient of ½ (KL(p‖q) + KL(q‖p)) is ½ (p (r - KL(p‖q)) + p - q) for the scores of p,
    and the same with p and q exchanged for those of q.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, output: Tensor, target: Tensor, smoothing: float, consistency: float
    ) -> tuple[Tensor, Tensor]:
        to_hidden, to_output = torch.empty_like(hidden), torch.zeros_like(output)
        first, second = hidden.chunk(2)
        to_first, to_second = to_hidden.chunk(2)
        said, divergence = (hidden.new_zeros((), dtype=torch.float64) for _ in range(2))
        for start in range(0, len(target), CHUNK):
            here, wanted = slice(start, start + CHUNK), target[start : start + CHUNK, None]
            log_p, log_q = ((half[here] @ output.t()).log_softmax(dim=1) for half in (first, second))
            for log_half in (log_p, log_q):
                said -= _smoothed(log_half, wanted, smoothing).double() / 2
            p, q, r = log_p.exp(), log_q.exp(), log_p.sub_(log_q)
            apart, ways = p - q, ((p, r, first, to_first), (q, r.neg(), second, to_second))
            divergence += (apart * r).sum().double() / 2
            for sign, (probs, ratio, states, to_states) in zip((1, -1), ways, strict=True):
                pulled = ratio.sub_((probs * ratio).sum(dim=1, keepdim=True)).mul_(probs).add_(apart, alpha=sign)
                gradient = probs.sub_(smoothing / len(output)).add_(pulled, alpha=consistency)
                gradient.scatter_add_(1, wanted, gradient.new_full(wanted.shape, smoothing - 1))
                gradient *= 0.5
                torch.mm(gradient, output, out=to_states[here])
                to_output.addmm_(gradient.t(), states[here])
        ctx.save_for_backward(to_hidden, to_output)
        loss = (said + consistency * divergence).to(hidden.dtype)
        said = said.to(hidden.dtype)
        ctx.mark_non_differentiable(said)
        return loss, said

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor | None) -> tuple[Tensor, Tensor, None, None, None]:
        to_hidden, to_output = ctx.saved_tensors
        return to_hidden * gradient, to_output * gradient, None, None, None


def _smoothed(log_probs: Tensor, wanted: Tensor, smoothing: float) -> Tensor:
    """Sum of the log-probabilities under the smoothed target."""
    return (1 - smoothing) * log_probs.gather(1, wanted).sum() + smoothing * log_probs.mean(dim=1).sum()
