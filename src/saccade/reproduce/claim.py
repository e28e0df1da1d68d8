"""Contestants of a claim, trained alike."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch.nn.utils import clip_grad_norm_

from saccade.data.batch import Batch
from saccade.models.build import Model, build
from saccade.models.settings import ModelSettings
from saccade.nn import dropout
from saccade.training.loss import smoothed_loss_chunked
from saccade.training.schedule import linear


@dataclass(frozen=True, slots=True)
class Trained:
    """A contestant after its training."""

    model: Model
    num_parameters: int
    cpu_seconds: float


def learn(
    settings: ModelSettings,
    num_tokens: int,
    batches: Iterator[Batch],
    *,
    updates: int,
    rate: float,
    seed: int,
    advanced: Callable[[int], None] = lambda _: None,
) -> Trained:
    """Train a new model on so many batches: Adam, a warm-up of a twentieth, then down to zero in a line."""
    dropout.seed(seed)
    model = build(settings, num_tokens, num_tokens)
    return train(model, batches, updates=updates, rate=rate, seed=seed, advanced=advanced)


def train(
    model: Model,
    batches: Iterator[Batch],
    *,
    updates: int,
    rate: float,
    seed: int,
    smoothing: float = 0.0,
    advanced: Callable[[int], None] = lambda _: None,
) -> Trained:
    """The same for a model that is there already, in place."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model.train()
    began = time.process_time()
    for update, batch in zip(range(1, updates + 1), batches, strict=False):
        dropout.seed(seed, update)
        for group in optimizer.param_groups:
            group["lr"] = linear(update, highest=rate, warmup=max(1, updates // 20), updates=updates)
        mask = batch.target_mask
        hidden, target = model(batch)[mask], batch.target[mask]
        optimizer.zero_grad()
        (smoothed_loss_chunked(hidden, model.output_weight, target, smoothing) / len(target)).backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        advanced(update)
    seconds = round(time.process_time() - began, 1)
    return Trained(model.eval(), sum(parameter.numel() for parameter in model.parameters()), seconds)
