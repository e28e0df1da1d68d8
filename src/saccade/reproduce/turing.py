"""A Turing machine copies what is longer than any it was trained on; an LSTM does not (Graves et al. 2014, §4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from saccade.reproduce.episodes import Contestant, learn, measure, over_seeds, told
from saccade.reproduce.finding import Advanced, Finding
from saccade.tasks.memory.settings import CopySettings, LstmSettings, TuringSettings

CLAIM = (
    "A Neural Turing Machine that has learned to copy goes on to copy sequences longer than any it was trained on, "
    "and an LSTM of many times its size does not (Graves et al. 2014, §4.1, Figures 4 and 5)."
)
RULE = (
    "Trained on 1 to 8 vectors, at 16 the machine is exact on at least 0.95 of all sequences with every seed, and the "
    "LSTM on at most 0.05 with every seed. What the machine does without a part of its addressing is told, not judged."
)
UPDATES, QUICK = 1000, 20
TASK = CopySettings(bits=4, longest=8, batch=16)
LENGTHS = (4, 8, 12, 16, 20, 24)
JUDGED = 16
MACHINE = TuringSettings(d_controller=64, rows=32, d_row=8)
CONTESTANTS = {
    "machine": Contestant(MACHINE, rate=0.005),
    "LSTM": Contestant(LstmSettings(layers=3, d_model=128), rate=0.003, times=4),
    "no shift": Contestant(replace(MACHINE, reach=0), rate=0.005),
    "no sharpening": Contestant(replace(MACHINE, sharpens=False), rate=0.005),
    "no interpolation": Contestant(replace(MACHINE, interpolates=False), rate=0.005),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1, 2, 3), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates, or its multiple of them, and test it on new sequences."""
    figures: dict[str, Any] = {}
    for name, contestant in CONTESTANTS.items():
        total = updates * contestant.times
        figures[name] = []
        for seed in seeds:
            model, story = learn(
                contestant,
                TASK,
                updates=total,
                seed=seed,
                advanced=lambda done, name=name, total=total: advanced(name, done, total),  # type: ignore[misc]
            )
            at = {length: measure(model, replace(TASK, shortest=length, longest=length), seed) for length in LENGTHS}
            figures[name].append(story | {"at": at})
    holds = (
        min(over_seeds(figures["machine"], JUDGED, "exact match")) >= 0.95
        and max(over_seeds(figures["LSTM"], JUDGED, "exact match")) <= 0.05
    )
    settings = {"task": asdict(TASK), "updates": updates, "seeds": list(seeds)}
    return Finding(CLAIM, RULE, holds, settings, figures)


def table(finding: Finding) -> str:
    """Bits per sequence, and in brackets the share of exact ones, in Markdown."""
    return rows(finding, "length", LENGTHS)


def rows(finding: Finding, size: str, sizes: Sequence[int]) -> str:
    """A line for each size, then those of costs; a column for each contestant."""
    found: Mapping[str, Any] = finding.figures
    lines = [f"| {size} | {' | '.join(found)} |", "|---" * (1 + len(found)) + "|"]
    lines += [f"| {each} | {' | '.join(told(runs, each) for runs in found.values())} |" for each in sizes]
    for cost, called in {"parameters": "parameters", "updates": "updates", "seconds": "CPU seconds"}.items():
        means = [f"{mean(run[cost] for run in runs):,.0f}" for runs in found.values()]
        lines.append(f"| {called} | {' | '.join(means)} |")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Exact match by length, a line for each contestant."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(TASK.longest, max(LENGTHS), color="0.94", zorder=0)
    axes.text(TASK.longest + 0.3, 1.03, "longer than any in training", fontsize=8, color="0.4")
    for (name, runs), style in zip(finding.figures.items(), ("o-", "s-", "^--", "v--", "d--"), strict=True):
        shares = [mean(over_seeds(runs, length, "exact match")) for length in LENGTHS]
        axes.plot(LENGTHS, shares, style, markersize=5, label=name)
    axes.set(xlabel="vectors to copy", ylabel="exact match", ylim=(-0.03, 1.1), title="Copying")
    axes.set_xticks(LENGTHS)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
