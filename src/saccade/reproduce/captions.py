"""Attention describes scenes that a single vector cannot, and looks at what it names (Xu et al. 2015), on digits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import nn

from saccade.nn import dropout
from saccade.reproduce.contest import Contestant, compare
from saccade.reproduce.figures import Figures, average, contestants_table, plot_bars, values
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.tasks.captioning.digits import DigitsTask
from saccade.tasks.captioning.loss import CaptionLoss
from saccade.tasks.captioning.model import AnyCaptioner
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.training.updates import Updates

UPDATES, QUICK = 3500, 300
TASK = DigitsSettings(batch=32)
RATE = 0.003
MEASURED_AT = 0.1
"""Share of the training after which the gradient's noise is measured: early, as nothing is left to learn later."""
NUM_GRADIENTS = 32
MEASURES = ("sequence accuracy", "attention on the digit")
SMALL: Mapping[str, Any] = {"encoder": "residual", "d_model": 64, "dropout": 0.0, "coverage": 0.0}
MODELS = {
    "soft": CaptionerSettings(attention="soft", **SMALL),
    "hard": CaptionerSettings(attention="hard", **SMALL),
    "mean": CaptionerSettings(attention="mean", **SMALL),
}
CONTESTANTS = {name: Contestant(partial(DigitsTask, TASK, model), RATE) for name, model in MODELS.items()}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train every contestant on so many batches of 32 scenes, and test it on digits that nobody has seen."""
    noises: list[dict[str, float]] = []

    def watch(training: Updates) -> None:
        task = training.task
        assert isinstance(task, DigitsTask)
        if task.model.attention == "hard" and training.progress.update == max(1, round(MEASURED_AT * updates)):
            batch = next(task.batches(training.progress.position, 0, 1)).batch
            noises.append(gradient_noise(training.model, training.progress.baseline, batch))

    figures = compare(CONTESTANTS, measure, updates, seeds, advanced, watch)
    for run, noise in zip(figures["hard"]["runs"], noises, strict=True):
        run["noise"] = noise
    return Finding.of(
        "captions", _holds(figures), {"updates": updates, "batch": TASK.batch, "seeds": [*seeds]}, figures
    )


def measure(task: DigitsTask, model: nn.Module) -> dict[str, float | None]:
    """Scenes of three digits described without a mistake, and how much attention lies on the digit being named."""
    largest = DigitsTask(replace(task.task, fewest=task.task.digits), task.model, seed=task.seed)
    figures = largest.evaluate(model)
    return {name: figures.get(name) for name in MEASURES}


def gradient_noise(model: Any, baseline: float | None, batch: Any) -> dict[str, float]:
    """The variance of the gradient of the scores over samples, summed over parameters, with the baseline and without.

    Many gradients of one batch, which differ by what was chosen in hard attention alone; nothing is learned.

    All images are sampled, and rewards count in full (λ_r = 1): what REINFORCE is before it is tamed.
    """
    attention, settings = _attention(model), model.settings
    sampling, variance = attention.sampling, {}
    try:
        model.settings, attention.sampling = replace(settings, reward=1.0, entropy=0.0), 1.0
        for uses_baseline in (True, False):
            gradients = []
            for draw in range(NUM_GRADIENTS):
                dropout.seed(draw)
                loss = CaptionLoss(uses_baseline=uses_baseline)
                loss.baseline.value = baseline
                found = torch.autograd.grad(loss(model, batch)[0] / len(batch.images), list(attention.parameters()))
                gradients.append(torch.cat([gradient.flatten() for gradient in found]))
            variance[uses_baseline] = float(torch.stack(gradients).var(dim=0).sum())
    finally:
        model.settings, attention.sampling = settings, sampling
    return {"with_baseline": variance[True], "without": variance[False]}


def table(finding: Finding) -> str:
    """The figures in Markdown, with their spread over seeds."""
    noise = values(finding.figures, "hard", "noise")
    shown = ", ".join(f"{one['with_baseline']:.3g} with and {one['without']:.3g} without" for one in noise)
    return (
        contestants_table(finding.figures, *MEASURES)
        + f"\n\nVariance of hard attention's gradient, of each seed: {shown} the baseline."
    )


def plot(finding: Finding, path: Path) -> None:
    """Accuracy of each contestant and seed."""
    plot_bars(finding.figures, MEASURES[:1], path, "Three digits among clutter")


def _holds(figures: Figures) -> bool:
    accuracy = {name: average(figures, name, MEASURES[0]) for name in CONTESTANTS}
    noise = values(figures, "hard", "noise")
    return (
        min(accuracy["soft"], accuracy["hard"]) >= max(0.9, accuracy["mean"] + 0.2)
        and average(figures, "soft", MEASURES[1]) >= 0.6
        and mean(one["with_baseline"] for one in noise) < mean(one["without"] for one in noise)
    )


def _attention(model: AnyCaptioner) -> Any:
    """Hard attention, whose scores are what chance is told by."""
    return model.decoder.cross_attention
