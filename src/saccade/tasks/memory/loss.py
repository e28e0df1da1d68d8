"""How well episodes are answered: the loss, bits per sequence, and the share without a mistake."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from saccade.tasks.memory.episodes import Episodes


def bits_per_sequence(logits: Float[Tensor, "batch steps bits"], episodes: Episodes) -> Float[Tensor, " batch"]:
    """What the wanted answers cost to be told by one who believes the logits (Graves et al. 2014, §4)."""
    nats = binary_cross_entropy_with_logits(logits, episodes.targets, reduction="none").sum(dim=-1)
    return nats.masked_fill(~episodes.target_mask, 0.0).sum(dim=-1) / math.log(2)


def exact(logits: Float[Tensor, "batch steps bits"], episodes: Episodes) -> Float[Tensor, " batch"]:
    """One where every wanted bit is right, else zero."""
    wrong = ((logits > 0) != (episodes.targets > 0.5)).any(dim=-1) & episodes.target_mask
    return (~wrong.any(dim=-1)).to(logits.dtype)


def answer_loss(model: nn.Module, episodes: Episodes) -> Float[Tensor, ""]:
    """The cross-entropy of all wanted bits, in nats."""
    wanted = episodes.target_mask
    return binary_cross_entropy_with_logits(model(episodes)[wanted], episodes.targets[wanted], reduction="sum")


@torch.inference_mode()
def figures(model: nn.Module, episodes: Episodes) -> dict[str, float]:
    """The means over a batch."""
    logits = model(episodes)
    return {
        "bits per sequence": float(bits_per_sequence(logits, episodes).mean()),
        "exact match": float(exact(logits, episodes).mean()),
    }
