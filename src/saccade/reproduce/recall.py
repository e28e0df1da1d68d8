"""A Turing machine recalls among more items than it was trained on (Graves et al. 2014, §4.3)."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from saccade.reproduce import turing
from saccade.reproduce.episodes import Contestant, learn, measure, over_seeds
from saccade.reproduce.finding import Advanced, Finding
from saccade.tasks.memory.settings import LstmSettings, RecallSettings, TuringSettings

CLAIM = (
    "A Neural Turing Machine learns associative recall, and keeps it beyond the number of items it was trained on; an "
    "LSTM learns it far more slowly, and does not (Graves et al. 2014, §4.3, Figures 10 and 11)."
)
RULE = (
    "Trained on 2 to 6 items of 3 × 6 bits, at 8 items the machine needs at most 1 bit per sequence with every seed, "
    "and the LSTM more than 9, half of what there is to know, with every seed."
)
UPDATES, QUICK = 2000, 20
TASK = RecallSettings(batch=16)
ITEMS = (2, 4, 6, 8, 10, 12)
JUDGED, MOST_BITS, BITS_OF_LSTM = 8, 1.0, 9.0
CONTESTANTS = {
    "machine": Contestant(TuringSettings(d_controller=128, rows=64, d_row=20, read_heads=2), rate=0.002),
    "LSTM": Contestant(LstmSettings(layers=3, d_model=128), rate=0.002),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1, 2, 3), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train both for so many updates, and test them on new episodes."""
    figures: dict[str, Any] = {}
    for name, contestant in CONTESTANTS.items():
        figures[name] = []
        for seed in seeds:
            model, story = learn(
                contestant,
                TASK,
                updates=updates,
                seed=seed,
                advanced=lambda done, name=name: advanced(name, done, updates),  # type: ignore[misc]
            )
            at = {items: measure(model, replace(TASK, fewest=items, most=items), seed) for items in ITEMS}
            figures[name].append(story | {"at": at})
    holds = (
        max(over_seeds(figures["machine"], JUDGED, "bits per sequence")) <= MOST_BITS
        and min(over_seeds(figures["LSTM"], JUDGED, "bits per sequence")) > BITS_OF_LSTM
    )
    settings = {"task": asdict(TASK), "updates": updates, "seeds": list(seeds)}
    return Finding(CLAIM, RULE, holds, settings, figures)


def table(finding: Finding) -> str:
    """Bits per sequence, and in brackets the share of exact ones, in Markdown."""
    return turing.rows(finding, "items", ITEMS)


def plot(finding: Finding, path: Path) -> None:
    """Bits per sequence by the number of items, a line for each contestant."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(TASK.most, max(ITEMS), color="0.94", zorder=0)
    place = axes.get_xaxis_transform()  # from the foot of the axes, whatever is drawn
    axes.text(TASK.most + 0.1, 0.94, "more than any in training", fontsize=8, color="0.4", transform=place)
    for (name, runs), style in zip(finding.figures.items(), ("o-", "s-"), strict=True):
        bits = [mean(over_seeds(runs, items, "bits per sequence")) for items in ITEMS]
        axes.plot(ITEMS, bits, style, markersize=5, label=name)
    axes.set(xlabel="items shown", ylabel="bits per sequence", title="Associative recall")
    axes.set_xticks(ITEMS)
    axes.margins(y=0.15)  # above all lines there is room for words
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
