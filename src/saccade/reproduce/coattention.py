"""Image and question that lead each other beat either alone (Lu et al. 2016, Table 3 and 4), on generated scenes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from saccade.reproduce.contest import Contestant, compare, evaluate
from saccade.reproduce.figures import average, contestants_table, plot_bars
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.tasks.scenes.task import ScenesTask

CLAIM = (
    "Questions about images are answered better when the image leads attention to the question and the question leads "
    "attention to the image (Lu et al. 2016, §3.3 and the ablation of Table 3)."
)
RULE = (
    "On questions about scenes of coloured shapes, accuracy with parallel and with alternating co-attention is at "
    "least 0.8, and at least 0.2 above that of the image alone, of the question alone and of the means of both; on the "
    "mean of all seeds."
)
UPDATES, QUICK, RATE = 4000, 400, 0.002
TASK = ScenesSettings()
MODELS = {
    "parallel": CoAttentionSettings(reads="parallel"),
    "alternating": CoAttentionSettings(reads="alternating"),
    "means of both": CoAttentionSettings(reads="mean"),
    "image alone": CoAttentionSettings(reads="image"),
    "question alone": CoAttentionSettings(reads="question"),
}
CONTESTANTS = {name: Contestant(partial(ScenesTask, TASK, model), RATE) for name, model in MODELS.items()}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train every contestant on so many batches of 64 scenes."""
    figures = compare(CONTESTANTS, evaluate, updates, seeds, advanced)
    shares = [average(figures, name, "accuracy") for name in CONTESTANTS]
    holds = min(shares[:2]) >= 0.8 and min(shares[:2]) >= max(shares[2:]) + 0.2
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return contestants_table(finding.figures, "accuracy")


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    plot_bars(finding.figures, ["accuracy"], path, "Questions about scenes", chance=1 / TASK.num_colours)
