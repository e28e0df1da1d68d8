"""Time, memory and reach of self-attention, recurrence and convolution, measured (Vaswani et al. 2017, Table 1)."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from saccade.nn.attention import Memory, attend
from saccade.nn.convolution import ConvolutionalEncoderLayer, ConvolutionShape
from saccade.reproduce.figures import Figures, average, markdown, plotted
from saccade.reproduce.finding import Advanced, Finding, silent

UPDATES, QUICK = 15, 3
"""How often each time is measured; the shortest counts, as whatever else the machine does makes it longer."""
KERNEL, POSITIONS, TOLERANCE = 3, 33, 0.35
Layer = Callable[[Tensor], Tensor]
"""From vectors, as positions × d, to as many."""
TABLE = {"self-attention": (2, 1), "recurrence": (1, 2), "convolution": (1, 2)}
"""The powers of n and of d."""
SEEN = {"self-attention": POSITIONS, "recurrence": POSITIONS // 2 + 1, "convolution": KERNEL}
SIZES: Mapping[str, tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]] = {
    "self-attention": ([(256, 64), (512, 64), (1024, 64)], [(256, 256), (256, 512), (256, 1024)]),
    "recurrence": ([(64, 64), (128, 64), (256, 64)], [(8, 2048), (8, 3072), (8, 4096)]),
    "convolution": ([(256, 128), (512, 128), (1024, 128)], [(64, 128), (64, 256), (64, 512)]),
}
"""Pairs (n, d): those along n, then those along d. Large enough for the highest power to be what counts, and the
matrices of recurrence, read anew in every step, for no cache to hold any of them: where some fit, the power is 2.6."""


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Measure times and fit powers, count bytes, and look at which inputs an output depends on."""
    figures: dict[str, Any] = {}
    for name in TABLE:
        runs = []
        for seed in seeds:
            torch.manual_seed(seed)
            seconds = [{size: shortest_time(name, *size, updates) for size in sizes} for sizes in SIZES[name]]
            n, d = (power([size[axis] for size in each], list(each.values())) for axis, each in enumerate(seconds))
            timed = {f"{n}×{d}": each for times in seconds for (n, d), each in times.items()}
            runs.append({"seed": seed, "n": n, "d": d, "seen": seen(name), "seconds": timed})
        figures[name] = {"runs": runs}
        advanced(name, updates, updates)
    lengths = [size for size, _ in SIZES["self-attention"][0]]
    figures["memory"] = power(lengths, [weight_bytes(length) for length in lengths])
    settings = {"repeats": updates, "kernel": KERNEL, "positions": POSITIONS, "seeds": list(seeds)}
    return Finding.of("complexity", _holds(figures), settings, figures)


def layer(name: str, d_model: int) -> Layer:
    """A new layer of one of the three kinds. Self-attention without its projections, as the table counts it."""
    match name:
        case "self-attention":
            return lambda states: attend(states[None, None], Memory(states[None, None], states[None, None])).context[
                0, 0
            ]
        case "recurrence":
            recurrence = nn.RNN(d_model, d_model)
            return lambda states: recurrence(states)[0]
        case "convolution":
            convolution = ConvolutionalEncoderLayer(ConvolutionShape(d_model=d_model, kernel=KERNEL, dropout=0.0))
            return lambda states: convolution(states[None], torch.ones(1, len(states), dtype=torch.bool))[0]
    raise AssertionError(name)


@torch.inference_mode()
def shortest_time(name: str, n: int, d: int, repeats: int) -> float:
    """CPU seconds of one pass over n positions of size d: the shortest of several."""
    states, passes = torch.randn(n, d), layer(name, d)
    passes(states)  # the first one also allocates
    times = []
    for _ in range(repeats):
        began = time.process_time()
        passes(states)
        times.append(time.process_time() - began)
    return min(times)


def power(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The exponent p for which cost = c · size^p fits best: the slope of a line through the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    return sum((one - mean(x)) * (other - mean(y)) for one, other in zip(x, y, strict=True)) / sum(
        (one - mean(x)) ** 2 for one in x
    )


def weight_bytes(n: int) -> int:
    """How much room the weights of n positions take that look at each other, written out."""
    states = torch.randn(1, 1, n, 4)
    return attend(states, Memory(states, states)).weights.nbytes


def seen(name: str) -> int:
    """On how many positions of the input the output in the middle depends."""
    parts = layer(name, 8)
    states = torch.randn(POSITIONS, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(parts(states)[POSITIONS // 2].sum(), states)
    return int((gradient.abs().amax(dim=-1) > 0).sum())


def _holds(figures: Figures) -> bool:
    near = [
        abs(average(figures, name, axis) - power) <= TOLERANCE
        for name, powers in TABLE.items()
        for axis, power in zip("nd", powers, strict=True)
    ]
    sees = [run["seen"] == SEEN[name] for name in TABLE for run in figures[name]["runs"]]
    return all(near) and all(sees) and abs(figures["memory"] - 2) <= 0.01


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found, rows = finding.figures, []
    for name, (n, d) in TABLE.items():
        powers = [f"{average(found, name, axis):.2f}" for axis in "nd"]
        rows.append([name, powers[0], n, powers[1], d, f"{average(found, name, 'seen'):.0f}"])
    head = ["", "time in n: power", "Table 1", "in d", "Table 1", "positions seen"]
    return markdown(head, rows) + f"\n\nSelf-attention's weights in bytes: n to the power of {found['memory']:.2f}."


def plot(finding: Finding, path: Path) -> None:
    """CPU time against length and against width, both axes in logarithms."""
    with plotted(path, 7.6, 3.4) as figure:
        for axis, axes in enumerate(figure.subplots(1, 2)):
            for name, style in zip(TABLE, ("o-", "s-", "^-"), strict=True):
                sizes = SIZES[name][axis]
                times = [average(finding.figures, name, "seconds", f"{n}×{d}") for n, d in sizes]
                label = f"{name}: {'nd'[axis]}^{TABLE[name][axis]}"
                axes.plot([size[axis] for size in sizes], times, style, label=label)
            axes.set(xscale="log", yscale="log", xlabel=("length n", "width d")[axis], ylabel="CPU seconds")
            axes.minorticks_off()  # whose labels would run into each other
            axes.legend(frameon=False, fontsize=7)
