"""Pointing at the input goes on where a fixed set of outputs ends (Vinyals et al. 2015, Tables 1 and 2)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, cast

from saccade.reproduce import taught
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.model import PointerNetwork
from saccade.tasks.pointing.settings import PointerSettings, PointsSettings
from saccade.tasks.pointing.task import PointsLesson

CLAIM = (
    "A network that points at its input sorts numbers and finds hulls of sets larger than any it has learned from, "
    "which outputs fixed to positions cannot, and finds tours about as short as the shortest (Vinyals et al. 2015, §4)."
)
RULE = (
    "Trained on 5 to 10 elements, on the mean of all seeds: of 10 numbers the pointer sorts at least 0.9 without a "
    "mistake, and of 15 more than 0.3 where the index softmax sorts at most 0.01; it finds at least 0.8 of the hulls "
    "of 10 points, and of 15 points at least 0.3 where the index softmax finds at most 0.05. Its tours of 5 points are "
    "at most 1.03 times as long as the shortest, and all of them visit every point once."
)
UPDATES, QUICK = 6000, 600
"""Of the hulls, which take most; the others have a share of them."""
RATE, CLIP = 0.002, 2.0
SIZES = (5, 7, 10, 12, 15, 20)
POINTER, INDEX = "pointer", "index softmax"


@dataclass(frozen=True, slots=True)
class Contest:
    """A task, who learns it, and how it is measured."""

    task: PointsSettings
    contestants: Mapping[str, PointerSettings]
    search: SearchSettings
    share: float
    """Of the updates."""


BOTH = {POINTER: PointerSettings(), INDEX: PointerSettings(output="index", num_positions=max(SIZES))}
GREEDY, BEAM = (SearchSettings(beam=beam, length_penalty=0.0) for beam in (1, 4))
CONTESTS = {
    "sort": Contest(PointsSettings(kind="sort", test_sizes=SIZES), BOTH, GREEDY, 0.15),
    "hull": Contest(PointsSettings(kind="hull", test_sizes=SIZES), BOTH, GREEDY, 1.0),
    "tour": Contest(
        PointsSettings(kind="tour", smallest=5, largest=5, test_sizes=(5,)),
        {POINTER: PointerSettings(choices="all")},
        BEAM,
        0.35,
    ),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant on each task with batches of 128 sets, and test it on 500 new sets of each size."""
    figures: dict[str, Any] = {}
    for name, contest in CONTESTS.items():
        count = max(1, round(updates * contest.share))
        for contestant, settings in contest.contestants.items():
            title, runs = f"{name}, {contestant}", []
            for seed in seeds:
                lesson = PointsLesson(contest.task, settings, contest.search, seed)
                began = time.process_time()
                told = lambda done, title=title, of=count: advanced(title, done, of)  # noqa: E731
                model = cast(PointerNetwork, taught.teach(lesson, count, RATE, told, longest=CLIP))
                seconds = round(time.process_time() - began, 1)
                by_size = {size: lesson.measured(model, size) for size in contest.task.test_sizes}
                runs.append({"seed": seed, "cpu_seconds": seconds, "by_size": by_size})
            figures[title] = {"parameters": sum(each.numel() for each in model.parameters()), "runs": runs}
    how = {"updates": updates, "batch": CONTESTS["sort"].task.batch, "seeds": list(seeds)}
    return Finding(CLAIM, RULE, _holds(figures), how, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown: exact match by size, then what else there is."""
    lines = [
        f"| exact match at | {' | '.join(map(str, SIZES))} | parameters | CPU seconds |",
        "|---" * (3 + len(SIZES)) + "|",
    ]
    for title, figures in finding.figures.items():
        sizes = figures["runs"][0]["by_size"]
        cells = [spread(_values(figures, size, "exact match")) if size in sizes else "" for size in SIZES]
        seconds = mean(run["cpu_seconds"] for run in figures["runs"])
        lines.append(f"| {title} | {' | '.join(cells)} | {figures['parameters']:,} | {seconds:.0f} |")
    hull, tour = finding.figures[f"hull, {POINTER}"], finding.figures[f"tour, {POINTER}"]
    for size in SIZES:
        area, invalid = _mean(hull, size, "area"), _mean(hull, size, "invalid")
        lines.append(f"\nHulls of {size} points: {area:.4f} of the area, {invalid:.4f} no polygon.")
    lines.append(f"\nTours of 5 points: {_mean(tour, 5, 'length'):.4f} times the shortest.")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Exact match by size, a line for each contestant, sorting and hulls side by side."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, name, title in zip(
        figure.subplots(1, 2, sharey=True), ("sort", "hull"), ("Sorting", "Hulls"), strict=True
    ):
        axes.axvspan(CONTESTS[name].task.largest, max(SIZES), color="0.94", zorder=0)
        for contestant, style in ((POINTER, "o-"), (INDEX, "s--")):
            shares = [_mean(finding.figures[f"{name}, {contestant}"], size, "exact match") for size in SIZES]
            axes.plot(SIZES, shares, style, markersize=5, label=contestant)
        axes.set(xlabel="elements (grey: more than any in training)", ylim=(-0.03, 1.05), title=title)
    figure.axes[0].set_ylabel("exact match")
    figure.axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def _holds(figures: Mapping[str, Any]) -> bool:
    def exact(title: str, size: int) -> float:
        return _mean(figures[title], size, "exact match")

    sorts = exact(f"sort, {POINTER}", 10) >= 0.9 and exact(f"sort, {POINTER}", 15) > 0.3
    finds = exact(f"hull, {POINTER}", 10) >= 0.8 and exact(f"hull, {POINTER}", 15) >= 0.3
    ends = exact(f"sort, {INDEX}", 15) <= 0.01 and exact(f"hull, {INDEX}", 15) <= 0.05
    tours = figures[f"tour, {POINTER}"]
    return sorts and finds and ends and _mean(tours, 5, "length") <= 1.03 and _mean(tours, 5, "invalid") == 0


def _mean(figures: Mapping[str, Any], size: int, name: str) -> float:
    return mean(_values(figures, size, name))


def _values(figures: Mapping[str, Any], size: int, name: str) -> list[float]:
    return [run["by_size"][size][name] for run in figures["runs"]]
