"""Contestants of a claim, trained alike by the product's own updates, and what is measured of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from saccade.reproduce.figures import Figures, contestants_table, plot_bars, plot_lines, sizes_table
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.training.settings import TrainingSettings
from saccade.training.task import Learnable
from saccade.training.updates import Updates, learn


class OpenTask(Protocol):
    """Makes the task of a contestant, such as `partial(FacetsTask, settings, model)`."""

    def __call__(self, *, seed: int) -> Any:
        """The task, whose data and first parameters the seed decides."""
        ...


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model with its task, and how it is trained."""

    open_task: OpenTask
    rate: float
    """The highest learning rate."""
    times: float = 1.0
    """Its updates, as a multiple of those that the claim names."""
    clip_norm: float = 1.0
    holds_rate: bool = False
    """Its rate is the highest from the first update on, until it falls over the last fifth."""

    def training(self, updates: int, seed: int) -> TrainingSettings:
        """Adam as it was published, a warm-up of a twentieth, then down to zero in a line, by one thread: models so
        small gain nothing from a second one.
        """
        return TrainingSettings(
            updates=updates,
            seed=seed,
            learning_rate=self.rate,
            warmup=1 if self.holds_rate else max(1, updates // 20),
            schedule="trapezoidal" if self.holds_rate else "linear",
            adam_betas=(0.9, 0.999),
            adam_epsilon=1e-8,
            clip_norm=self.clip_norm,
            device="cpu",
            threads=1,
        )


def compare(
    contestants: Mapping[str, Contestant],
    measure: Callable[[Any, nn.Module], Mapping[str, Any]],
    updates: int,
    seeds: Sequence[int],
    advanced: Advanced,
    watch: Callable[[Updates], None] = lambda training: None,
) -> dict[str, Any]:
    """Train every contestant with every seed; its parameters and updates, and of each run the CPU seconds and what
    `measure` says of the task and the trained model. `watch` sees each training after each of its updates.
    """
    figures: dict[str, Any] = {}
    for name, contestant in contestants.items():
        runs, total = [], max(1, round(updates * contestant.times))

        def tell(training: Updates, name: str = name, total: int = total) -> None:
            advanced(name, training.progress.update, total)
            watch(training)

        for seed in seeds:
            task: Learnable = contestant.open_task(seed=seed)
            began = time.process_time()
            model = learn(task, contestant.training(total, seed), tell)
            seconds = round(time.process_time() - began, 1)
            runs.append({"seed": seed, "cpu_seconds": seconds, **measure(task, model)})
        parameters = sum(parameter.numel() for parameter in model.parameters())
        figures[name] = {"parameters": parameters, "updates": total, "runs": runs}
    return figures


def evaluate(task: Any, model: nn.Module) -> Mapping[str, float]:
    """The figures that a task of the product gives."""
    figures: Mapping[str, float] = task.evaluate(model)
    return figures


@dataclass(frozen=True, slots=True)
class Contest:
    """A claim that compares contestants: how it is run, and how its figures are told and drawn."""

    name: str
    contestants: Mapping[str, Contestant]
    holds: Callable[[Figures], bool]
    batch: int
    measure: Callable[[Any, nn.Module], Mapping[str, Any]] = evaluate
    measures: Sequence[str] = ("accuracy",)
    """What is told and drawn of the figures."""
    title: str = ""
    chance: float | None = None
    """What guessing would give."""
    size: str = ""
    """Of measures that are taken at several sizes: what the sizes are, such as "length"."""
    largest: int | None = None
    """The largest size in training."""
    drawn: str = ""
    """Which of these measures is drawn; the first unless given."""

    def run(self, *, updates: int, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
        """Train every contestant for so many updates, or its multiple of them, and measure it on new data."""
        figures = compare(self.contestants, self.measure, updates, seeds, advanced)
        settings = {"updates": updates, "batch": self.batch, "seeds": list(seeds)}
        return Finding.of(self.name, self.holds(figures), settings, figures)

    def table(self, finding: Finding) -> str:
        """The figures in Markdown, with their spread over seeds."""
        if self.size:
            return sizes_table(finding.figures, self.size, *self.measures)
        return contestants_table(finding.figures, *self.measures)

    def plot(self, finding: Finding, path: Path) -> None:
        """A line for each contestant where there are sizes; else bars, the measures side by side."""
        if self.size:
            drawn = self.drawn or self.measures[0]
            plot_lines(finding.figures, drawn, path, largest=self.largest, xlabel=self.size, title=self.title)
        else:
            plot_bars(finding.figures, self.measures, path, self.title, self.chance)
