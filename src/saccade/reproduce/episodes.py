"""Contestants that answer in episodes, trained alike, and how well they do."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from saccade.reproduce.finding import spread
from saccade.tasks.memory.episodes import draw
from saccade.tasks.memory.loss import Answers, figures
from saccade.tasks.memory.model import Lstm, Turing
from saccade.tasks.memory.settings import EpisodesSettings, LstmSettings, TuringSettings

NUM_TESTED = 200
"""Episodes of each size."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model, and how it is trained: Adam at the full rate, and over the last fifth down to zero in a line."""

    model: TuringSettings | LstmSettings
    rate: float
    times: int = 1
    """Its updates, as a multiple of the others'."""


def learn(
    contestant: Contestant,
    task: EpisodesSettings,
    *,
    updates: int,
    seed: int,
    advanced: Callable[[int], None] = lambda _: None,
) -> tuple[nn.Module, dict[str, Any]]:
    """Train a new model; with it what there is to say of its training. Seconds are those of the processor."""
    torch.manual_seed(seed)
    model = build(contestant.model, task)
    learner, optimizer = Answers(model), torch.optim.Adam(model.parameters(), fused=True)
    random, began = np.random.default_rng((seed, 0)), time.process_time()
    for update in range(1, updates + 1):
        for group in optimizer.param_groups:
            group["lr"] = contestant.rate * min(1.0, 5 * (1 - (update - 1) / updates))
        batch = draw(random, task, task.batch)
        optimizer.zero_grad()
        (learner(batch)[0] / batch.num_targets).backward()
        clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        advanced(update)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    seconds = round(time.process_time() - began, 1)
    return model.eval(), {"seed": seed, "updates": updates, "seconds": seconds, "parameters": parameters}


def build(settings: TuringSettings | LstmSettings, task: EpisodesSettings) -> nn.Module:
    """A new model of the sizes that a task needs."""
    sizes = task.num_inputs, task.num_outputs
    return Turing(settings, *sizes) if isinstance(settings, TuringSettings) else Lstm(settings, *sizes)


def measure(model: nn.Module, task: EpisodesSettings, seed: int) -> dict[str, float]:
    """Bits per sequence and exact match on new episodes."""
    return figures(model, draw(np.random.default_rng((seed, 1)), task, NUM_TESTED))


def over_seeds(runs: list[dict[str, Any]], size: int, what: str) -> list[float]:
    """One figure at one size, of every seed."""
    return [run["at"][size][what] for run in runs]


def told(runs: list[dict[str, Any]], size: int) -> str:
    """Bits per sequence and exact match of a contestant, each on the mean of all seeds, with their spread."""
    bits, exact = (spread(over_seeds(runs, size, what), 2) for what in ("bits per sequence", "exact match"))
    return f"{bits} ({exact})"
