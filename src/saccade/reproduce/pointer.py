"""Pointing at the input goes on where a fixed set of outputs ends (Vinyals et al. 2015, Tables 1 and 2)."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from torch import nn

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import (
    COSTS,
    Figures,
    average,
    costs,
    draw_lines,
    markdown,
    plotted,
    shade,
    spread,
    values,
)
from saccade.reproduce.finding import Finding
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.settings import PointerSettings, PointsSettings
from saccade.tasks.pointing.task import PointingTask

UPDATES, QUICK = 6000, 600
"""Of the hulls, which take most; the others have a share of them."""
RATE, CLIP = 0.002, 2.0
SIZES = (5, 7, 10, 12, 15, 20)
POINTER, INDEX = "pointer", "index softmax"


SORT, HULL = (PointsSettings(kind=kind, test_sizes=SIZES) for kind in ("sort", "hull"))
TOUR = PointsSettings(kind="tour", smallest=5, largest=5, test_sizes=(5,))
MODELS = {POINTER: PointerSettings(), INDEX: PointerSettings(output="index", num_positions=max(SIZES))}
GREEDY, BEAM = (SearchSettings(beam=beam, length_penalty=0.0) for beam in (1, 4))


def _contestant(task: PointsSettings, model: PointerSettings, search: SearchSettings, share: float) -> Contestant:
    return Contestant(partial(PointingTask, task, model, search), RATE, times=share, clip_norm=CLIP)


CONTESTANTS = {
    **{f"sort, {name}": _contestant(SORT, model, GREEDY, 0.15) for name, model in MODELS.items()},
    **{f"hull, {name}": _contestant(HULL, model, GREEDY, 1.0) for name, model in MODELS.items()},
    f"tour, {POINTER}": _contestant(TOUR, PointerSettings(choices="all"), BEAM, 0.35),
}


def measure(task: PointingTask, model: nn.Module) -> Mapping[str, Mapping[int, float]]:
    """The figures of a task, each by the size of the sets."""
    found = {size: task.measure_size(model, size) for size in task.task.test_sizes}
    names = next(iter(found.values()))
    return {name: {size: figures[name] for size, figures in found.items()} for name in names}


def table(finding: Finding) -> str:
    """The figures in Markdown: exact match by size, then what else there is."""
    found, rows = finding.figures, []
    for name in found:
        sizes = found[name]["runs"][0]["exact match"]
        cells = [spread(values(found, name, "exact match", size)) if size in sizes else "" for size in SIZES]
        rows.append([name, *cells, *costs(found, name)])
    lines = [markdown(["exact match at", *SIZES, *COSTS], rows)]
    for size in SIZES:
        area, invalid = (average(found, f"hull, {POINTER}", what, size) for what in ("area", "invalid"))
        lines.append(f"\nHulls of {size} points: {area:.4f} of the area, {invalid:.4f} no polygon.")
    length = average(found, f"tour, {POINTER}", "length", 5)
    return "\n".join([*lines, f"\nTours of 5 points: {length:.4f} times the shortest."])


def plot(finding: Finding, path: Path) -> None:
    """Exact match by size, a line for each contestant, sorting and hulls side by side."""
    with plotted(path, 9, 3.6) as figure:
        for axes, kind in zip(figure.subplots(1, 2, sharey=True), ("sort", "hull"), strict=True):
            shade(axes, SIZES, SORT.largest)
            draw_lines(axes, finding.figures, [f"{kind}, {name}" for name in MODELS], "exact match", SIZES)
            axes.set(xlabel="elements", ylim=(-0.03, 1.05))
            axes.legend(frameon=False)


def _holds(figures: Figures) -> bool:
    def exact(name: str, size: int) -> float:
        return average(figures, name, "exact match", size)

    sorts = exact(f"sort, {POINTER}", 10) >= 0.9 and exact(f"sort, {POINTER}", 15) > 0.3
    finds = exact(f"hull, {POINTER}", 10) >= 0.8 and exact(f"hull, {POINTER}", 15) >= 0.3
    ends = exact(f"sort, {INDEX}", 15) <= 0.01 and exact(f"hull, {INDEX}", 15) <= 0.05
    tours = {what: average(figures, f"tour, {POINTER}", what, 5) for what in ("length", "invalid")}
    return sorts and finds and ends and tours["length"] <= 1.03 and tours["invalid"] == 0


CONTEST = Contest("pointer", CONTESTANTS, _holds, SORT.batch, measure)
run = CONTEST.run
