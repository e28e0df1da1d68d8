"""Figures of contestants as Markdown tables and as plots. No torch here.

A contestant has `runs`, one for each seed, and a run has figures by name: a number, or one for each size such as a
length.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Figures = Mapping[str, Any]
COSTS = ("parameters", "updates", "CPU seconds")
STYLES = ("o-", "s-", "^--", "v--", "d--")
"""Told apart where lines lie upon each other."""


def values(figures: Figures, name: str, *keys: str | int) -> list[Any]:
    """One figure of a contestant, of every seed; `keys` lead to it, such as `"exact match", 20`."""
    found = figures[name]["runs"]
    for key in keys:
        found = [run[key] for run in found]
    return list(found)


def average(figures: Figures, name: str, *keys: str | int) -> float:
    """The same on the mean of all seeds."""
    return float(mean(values(figures, name, *keys)))


def spread(numbers: Sequence[float], digits: int = 3) -> str:
    """The mean of all seeds, and how far they lie from it: the standard deviation, where there are several."""
    middle = f"{mean(numbers):.{digits}f}"
    return f"{middle} ± {pstdev(numbers):.{digits}f}" if len(numbers) > 1 else middle


def markdown(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |".replace(" --- ", "---") for line in lines)


def costs(figures: Figures, name: str) -> list[str]:
    """Parameters, updates and CPU seconds of a contestant."""
    own = figures[name]
    return [f"{own['parameters']:,}", f"{own['updates']:,}", f"{average(figures, name, 'cpu_seconds'):.0f}"]


def contestants_table(figures: Figures, *measures: str, digits: int = 3) -> str:
    """A row for each contestant, with its measures and costs; a measure that it does not have is a dash."""
    rows = []
    for name in figures:
        found = [values(figures, name, measure) for measure in measures]
        cells = ["–" if None in numbers else spread(numbers, digits) for numbers in found]
        rows.append([name, *cells, *costs(figures, name)])
    return markdown(["", *measures, *COSTS], rows)


def sizes_table(figures: Figures, size: str, *measures: str) -> str:
    """A row for each size and a column for each contestant, then rows of costs; a second measure is in brackets."""

    def cell(name: str, key: int) -> str:
        first, *others = (spread(values(figures, name, what, key), 2 if measures[1:] else 3) for what in measures)
        return " ".join([first, *(f"({other})" for other in others)])

    rows = [[key, *(cell(name, key) for name in figures)] for key in sizes_of(figures, measures[0])]
    rows += map(list, zip(COSTS, *(costs(figures, name) for name in figures), strict=True))
    return markdown([size, *figures], rows)


def sizes_of(figures: Figures, measure: str) -> list[int]:
    """The sizes that a measure was taken at."""
    return list(next(iter(figures.values()))["runs"][0][measure])


@contextmanager
def plotted(path: Path, width: float, height: float) -> "Iterator[Figure]":
    """A figure to draw in, which is then written."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    figure.savefig(path, dpi=150)


def plot_bars(
    figures: Figures, measures: Sequence[str], path: Path, title: str = "", chance: float | None = None
) -> None:
    """A bar for each contestant, a dot for each seed, a line for guessing; the measures side by side."""
    with plotted(path, 3 + 3 * len(measures), 0.9 + 0.35 * len(figures)) as figure:
        for axes, measure in zip(
            figure.subplots(1, len(measures), sharey=True, squeeze=False)[0], measures, strict=True
        ):
            for place, name in enumerate(figures):
                numbers = values(figures, name, measure)
                axes.barh(place, mean(numbers), color="#4878a8", height=0.6)
                axes.plot(numbers, [place] * len(numbers), "o", color="black", markersize=4)
            axes.set(yticks=range(len(figures)), yticklabels=list(figures), xlabel=measure)
            if chance is not None:
                axes.axvline(chance, color="0.4", linestyle=":", label="guessing")
                axes.legend(frameon=False, loc="lower right", fontsize=8)
        axes.invert_yaxis()
        figure.suptitle(title)


def draw_lines(axes: "Axes", figures: Figures, names: Iterable[str], what: str, sizes: Sequence[int]) -> None:
    """A measure against size, a line for each contestant."""
    for name, style in zip(names, STYLES, strict=False):
        axes.plot(sizes, [average(figures, name, what, size) for size in sizes], style, markersize=5, label=name)
    axes.set_ylabel(what)


def plot_lines(figures: Figures, what: str, path: Path, *, largest: int | None = None, **labels: Any) -> None:
    """A measure against size; `largest` is the largest size in training, and `labels` are those of the axes."""
    sizes = sizes_of(figures, what)
    with plotted(path, 6, 3.6) as figure:
        axes = figure.subplots()
        if largest is not None:
            shade(axes, sizes, largest)
        draw_lines(axes, figures, figures, what, sizes)
        axes.set(**labels)
        axes.set_xticks(sizes, list(map(str, sizes)), fontsize=8)
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8)


def shade(axes: "Axes", sizes: Sequence[int], largest: int) -> None:
    """Grey where sizes are larger than any in training."""
    axes.axvspan(largest, max(sizes), color="0.94", zorder=0)
    place = axes.get_xaxis_transform()  # from the foot of the axes, whatever is drawn
    axes.text(largest, 1.01, " grey: larger than any in training", fontsize=7, color="0.4", transform=place)
