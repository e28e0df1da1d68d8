"""Label-smoothed cross-entropy (Szegedy et al. 2016; Vaswani et al. 2017, §5.4), plain and in chunks."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

CHUNK = 256


def smoothed_loss(
    hidden: Float[Tensor, "positions d_model"],
    output: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, " positions"],
    smoothing: float,
) -> Float[Tensor, ""]:
    """Sum over positions of the cross-entropy between the model and the smoothed target: the readable twin.

    The target's token has probability 1 - smoothing + smoothing / vocab, every other token smoothing / vocab.
    """
    return cross_entropy(linear(hidden, output), target, label_smoothing=smoothing, reduction="sum")


def smoothed_loss_chunked(
    hidden: Float[Tensor, "positions d_model"],
    output: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, " positions"],
    smoothing: float,
) -> Float[Tensor, ""]:
    """`smoothed_loss` with its gradients, a few hundred positions at a time in one buffer.

    The (positions × vocab) scores, by far the largest tensor of a small model, never exist as a whole.
    """
    loss: Tensor = _Chunked.apply(hidden, output, target, smoothing)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def log_probs(
    hidden: Float[Tensor, "batch target d_model"],
    output: Float[Tensor, "vocab d_model"],
    target: Int[Tensor, "batch target"],
    mask: Bool[Tensor, "batch target"],
) -> Float[Tensor, " batch"]:
    """log p of each whole target, without smoothing and without a gradient."""
    said = hidden.new_zeros(target.shape)
    said[mask] = -cross_entropy(linear(hidden[mask], output), target[mask], reduction="none")
    return said.sum(dim=1)


class _Chunked(torch.autograd.Function):
    """Loss and gradients in one pass: softmax minus the smoothed target is the gradient of the scores."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, output: Tensor, target: Tensor, smoothing: float) -> Tensor:
        to_hidden, to_output = torch.empty_like(hidden), torch.zeros_like(output)
        buffer = hidden.new_empty(min(CHUNK, len(hidden)), len(output))
        share, mean = smoothing / len(output), output.mean(dim=0)
        loss = hidden.new_zeros((), dtype=torch.float64)
        for start in range(0, len(hidden), CHUNK):
            states, wanted = hidden[start : start + CHUNK], target[start : start + CHUNK, None]
            scores = torch.mm(states, output.t(), out=buffer[: len(states)])
            said, highest = scores.gather(1, wanted), scores.amax(dim=1, keepdim=True)
            probs = torch.softmax(scores, dim=1, out=scores)
            total = highest - probs.amax(dim=1, keepdim=True).log()  # log Σ exp, without a pass of its own
            loss += (total - (1 - smoothing) * said).sum(dtype=torch.float64) - smoothing * (states @ mean).sum()
            # The smoothed part of the target is the same for all tokens, so it need not be written into every score.
            probs.scatter_add_(1, wanted, probs.new_full(wanted.shape, smoothing - 1))
            torch.mm(probs, output, out=to_hidden[start : start + CHUNK])
            to_output.addmm_(probs.t(), states)
        to_hidden -= smoothing * mean
        to_output -= share * hidden.sum(dim=0)
        ctx.save_for_backward(to_hidden, to_output)
        return loss.to(hidden.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        to_hidden, to_output = ctx.saved_tensors
        return to_hidden * gradient, to_output * gradient, None, None
