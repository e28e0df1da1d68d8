"""Attention describes scenes that a single vector cannot, and looks at what it names (Xu et al. 2015), on digits."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from saccade.nn import dropout
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.digits import DigitsLesson, SceneBatch
from saccade.tasks.captioning.loss import CaptionLearner
from saccade.tasks.captioning.model import AnyCaptioner
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.tasks.generated import TRAIN
from saccade.training.schedule import linear

CLAIM = (
    "With soft or hard attention a decoder describes an image better than from one vector of it, and looks at what it "
    "names; a moving-average baseline makes the gradient of hard attention less noisy (Xu et al. 2015, §4, Table 1 and "
    "Figure 3)."
)
RULE = (
    "On scenes of three digits that training never showed, soft and hard attention name all in order in at least 0.9 "
    "of the scenes, each 0.2 more than with the mean of the cells; at least 0.6 of soft attention lies on the digit "
    "being named; and the baseline lowers the variance of the gradient; on the mean of all seeds."
)
UPDATES, QUICK = 3500, 300
TASK = DigitsSettings(batch=32)
RATE = 0.003
MEASURED_AT = 0.1
"""Share of the training after which the gradient's noise is measured: early, as nothing is left to learn later."""
NUM_GRADIENTS = 32
SMALL: Mapping[str, Any] = {"encoder": "residual", "d_model": 64, "dropout": 0.0, "coverage": 0.0}
CONTESTANTS: Mapping[str, CaptionerSettings] = {
    "soft": CaptionerSettings(attention="soft", **SMALL),
    "hard": CaptionerSettings(attention="hard", **SMALL),
    "mean": CaptionerSettings(attention="mean", **SMALL),
}


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of the gradient of the scores over samples, summed over parameters."""

    with_baseline: float
    without: float


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates of 32 scenes, and test it on digits that nobody has seen."""
    figures: dict[str, Any] = {}
    for name, settings in CONTESTANTS.items():
        runs = []
        for seed in seeds:
            told = lambda done, name=name: advanced(name, done, updates)  # noqa: E731
            runs.append(contest(settings, seed=seed, updates=updates, advanced=told))
        figures[name] = {"parameters": runs[0].pop("parameters"), "runs": runs}
        for each in runs[1:]:
            each.pop("parameters")
    return Finding(CLAIM, RULE, _holds(figures), {"updates": updates, "batch": TASK.batch, "seeds": [*seeds]}, figures)


def contest(
    settings: CaptionerSettings, *, seed: int, updates: int, advanced: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """One training, and what came of it."""
    lesson = DigitsLesson(TASK, settings, SearchSettings(), seed)
    dropout.seed(seed)
    model = lesson.build()
    learner, noise = lesson.learner(model), None
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    learner.train()
    began = time.process_time()
    for update, loaded in zip(range(1, updates + 1), lesson.fixed(TRAIN, updates), strict=True):
        dropout.seed(seed, update)
        for group in optimizer.param_groups:
            group["lr"] = linear(update, highest=RATE, warmup=max(1, updates // 20), updates=updates)
        optimizer.zero_grad()
        (learner(loaded)[0] / loaded.num_targets).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        advanced(update)
        if settings.attention == "hard" and update == max(1, round(MEASURED_AT * updates)):
            noise = gradient_noise(learner, loaded)
    seconds = time.process_time() - began
    figures = DigitsLesson(replace(TASK, fewest=TASK.digits), settings, SearchSettings(), seed).evaluate(model)
    return {
        "seed": seed,
        "seconds": round(seconds, 1),
        "accuracy": figures["sequence accuracy"],
        "mass": figures.get("attention on the digit"),
        "noise": None if noise is None else {"with_baseline": noise.with_baseline, "without": noise.without},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def gradient_noise(learner: CaptionLearner, batch: SceneBatch) -> Noise:
    """Many gradients of one batch, which differ by what was chosen in hard attention alone; nothing is learned.

    All images are sampled, and rewards count in full (λ_r = 1): what REINFORCE is before it is tamed.
    """
    held, settings, uses = learner.baseline, learner.model.settings, learner.uses_baseline
    sampling = _reader(learner.model).sampling
    found = {}
    try:
        learner.model.settings = replace(settings, reward=1.0, entropy=0.0)
        _reader(learner.model).sampling = 1.0
        for learner.uses_baseline in (True, False):
            gradients = []
            for draw in range(NUM_GRADIENTS):
                dropout.seed(draw)
                learner.baseline = held
                loss = learner(batch)[0] / len(batch.images)
                parameters = list(_reader(learner.model).parameters())
                gradients.append(torch.cat([each.flatten() for each in torch.autograd.grad(loss, parameters)]))
            found[learner.uses_baseline] = float(torch.stack(gradients).var(dim=0).sum())
    finally:
        learner.baseline, learner.model.settings, learner.uses_baseline = held, settings, uses
        _reader(learner.model).sampling = sampling
    return Noise(found[True], found[False])


def table(finding: Finding) -> str:
    """The figures in Markdown, with their spread over seeds."""
    names = list(CONTESTANTS)
    rows = {
        "sequence accuracy": [_spread(finding.figures[name], "accuracy") for name in names],
        "attention on the digit": [_spread(finding.figures[name], "mass") for name in names],
        "parameters": [f"{finding.figures[name]['parameters']:,}" for name in names],
        "CPU seconds": [f"{mean(each['seconds'] for each in finding.figures[name]['runs']):.0f}" for name in names],
    }
    lines = [f"| | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    lines += [f"| {what} | {' | '.join(cells)} |" for what, cells in rows.items()]
    noise = [each["noise"] for each in finding.figures["hard"]["runs"]]
    told = ", ".join(f"{each['with_baseline']:.3g} with and {each['without']:.3g} without" for each in noise)
    return "\n".join(lines) + f"\n\nVariance of hard attention's gradient, of each seed: {told} the baseline."


def plot(finding: Finding, path: Path) -> None:
    """Accuracy of each contestant and seed."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for at, name in enumerate(CONTESTANTS):
        shares = [each["accuracy"] for each in finding.figures[name]["runs"]]
        axes.bar(at, mean(shares), color="0.8")
        axes.plot([at] * len(shares), shares, "ko", markersize=4)
    axes.set_xticks(range(len(CONTESTANTS)), list(CONTESTANTS))
    axes.set(ylabel="scenes described without a mistake", ylim=(0, 1.05), title="Three digits among clutter")
    figure.savefig(path, dpi=150)


def _holds(figures: Mapping[str, Any]) -> bool:
    accuracy = {name: _mean(figures[name], "accuracy") for name in CONTESTANTS}
    noise = [each["noise"] for each in figures["hard"]["runs"]]
    return (
        min(accuracy["soft"], accuracy["hard"]) >= max(0.9, accuracy["mean"] + 0.2)
        and _mean(figures["soft"], "mass") >= 0.6
        and mean(each["with_baseline"] for each in noise) < mean(each["without"] for each in noise)
    )


def _mean(figures: Mapping[str, Any], what: str) -> float:
    return float(mean(each[what] for each in figures["runs"]))


def _spread(figures: Mapping[str, Any], what: str) -> str:
    values = [each[what] for each in figures["runs"]]
    return "–" if values[0] is None else spread(values)


def _reader(model: AnyCaptioner) -> Any:
    """Hard attention, whose scores are what chance is told by."""
    return model.decoder.cross_attention
