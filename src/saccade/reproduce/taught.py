"""Claims about models of generated tasks: each contestant learns the same lesson, and accuracy is compared."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from saccade.data.sampler import Position
from saccade.reproduce.finding import Advanced, spread
from saccade.tasks.generated import Generated
from saccade.training.schedule import linear

Lessons = Mapping[str, Callable[[int], Generated[Any, Any, Any]]]
"""By the name of each contestant: its lesson, given a seed."""


def teach(
    lesson: Generated[Any, Any, Any],
    updates: int,
    rate: float,
    advanced: Callable[[int], None] = lambda _: None,
    *,
    longest: float = 1.0,
) -> nn.Module:
    """Train a new model: Adam, a warm-up of a twentieth, then down to zero in a line; longer gradients are clipped."""
    torch.manual_seed(lesson.seed)
    model = lesson.build()
    learner = lesson.learner(model)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    for update, loaded in zip(range(1, updates + 1), lesson.batches(Position(), 0, 1), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = linear(update, highest=rate, warmup=max(1, updates // 20), updates=updates)
        optimizer.zero_grad()
        (learner(loaded.batch)[0] / loaded.batch.num_targets).backward()
        clip_grad_norm_(model.parameters(), longest)
        optimizer.step()
        advanced(update)
    return model.eval()


def compare(lessons: Lessons, updates: int, rate: float, seeds: Sequence[int], advanced: Advanced) -> dict[str, Any]:
    """Accuracy, parameters and CPU seconds of every contestant, for every seed."""
    figures: dict[str, Any] = {}
    for name, opened in lessons.items():
        runs = []
        for seed in seeds:
            lesson, began = opened(seed), time.process_time()
            model = teach(lesson, updates, rate, lambda done, name=name: advanced(name, done, updates))  # type: ignore[misc]
            seconds = round(time.process_time() - began, 1)
            runs.append({"seed": seed, "cpu_seconds": seconds, **lesson.evaluate(model)})
        figures[name] = {"parameters": sum(each.numel() for each in model.parameters()), "runs": runs}
    return figures


def accuracy(figures: Mapping[str, Any], name: str) -> float:
    """Of a contestant, on the mean of all seeds."""
    return float(mean(run["accuracy"] for run in figures[name]["runs"]))


def table(figures: Mapping[str, Any]) -> str:
    """In Markdown."""
    lines = ["| | accuracy | parameters | CPU seconds |", "|---|---|---|---|"]
    for name, each in figures.items():
        found = [run["accuracy"] for run in each["runs"]]
        seconds = mean(run["cpu_seconds"] for run in each["runs"])
        lines.append(f"| {name} | {spread(found)} | {each['parameters']:,} | {seconds:.0f} |")
    return "\n".join(lines)


def plot(figures: Mapping[str, Any], title: str, chance: float, path: Path) -> None:
    """A bar for each contestant, a dot for each seed, a line for guessing."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 0.9 + 0.45 * len(figures)), layout="constrained")
    axes = figure.subplots()
    for place, each in enumerate(figures.values()):
        found = [run["accuracy"] for run in each["runs"]]
        axes.barh(place, mean(found), color="#4878a8", height=0.6)
        axes.plot(found, [place] * len(found), "o", color="black", markersize=4)
    axes.axvline(chance, color="0.4", linestyle=":", label="guessing")
    axes.set(yticks=range(len(figures)), yticklabels=list(figures), xlim=(0, 1.02), xlabel="accuracy", title=title)
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    figure.savefig(path, dpi=150)
