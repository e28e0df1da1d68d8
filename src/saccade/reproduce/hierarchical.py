"""Attention over words and sentences beats averages of them (Yang et al. 2016, Table 2), on generated documents."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from saccade.reproduce.contest import Contestant, compare, evaluate
from saccade.reproduce.figures import average, contestants_table, plot_bars
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.tasks.documents.settings import DocumentsSettings, HierarchicalSettings
from saccade.tasks.documents.task import DocumentsTask

CLAIM = (
    "A hierarchy of words and sentences that are pooled by attention classifies documents better than one that is "
    "pooled by averages (Yang et al. 2016, Table 2: HN-ATT against HN-AVE)."
)
RULE = (
    "On documents of 10 to 30 sentences whose class is named by one word in one of them, accuracy with attention is at "
    "least 0.9 and at least 0.05 above that with averages, on the mean of all seeds. Flat attention is only reported."
)
UPDATES, QUICK, RATE = 600, 60, 0.003
TASK = DocumentsSettings(min_sentences=10, max_sentences=30, num_words=10, num_classes=6)
MODELS = {
    "hierarchical attention": HierarchicalSettings(pooling="attention", d_model=48),
    "hierarchical averages": HierarchicalSettings(pooling="average", d_model=48),
    "flat attention": HierarchicalSettings(pooling="flat", d_model=48),
}
CONTESTANTS = {name: Contestant(partial(DocumentsTask, TASK, model), RATE) for name, model in MODELS.items()}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train every contestant on so many batches of 32 documents."""
    figures = compare(CONTESTANTS, evaluate, updates, seeds, advanced)
    attending, averaging = (average(figures, name, "accuracy") for name in list(CONTESTANTS)[:2])
    holds = attending >= 0.9 and attending >= averaging + 0.05
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return contestants_table(finding.figures, "accuracy")


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    plot_bars(finding.figures, ["accuracy"], path, "Documents named by one word", chance=1 / TASK.num_classes)
