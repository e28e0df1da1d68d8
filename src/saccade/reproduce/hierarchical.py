"""Attention over words and sentences beats averages of them (Yang et al. 2016, Table 2), on generated documents."""

from collections.abc import Sequence
from pathlib import Path

from saccade.reproduce import taught
from saccade.reproduce.finding import Advanced, Finding
from saccade.search.settings import SearchSettings
from saccade.tasks.documents.settings import DocumentsSettings, HierarchicalSettings
from saccade.tasks.documents.task import DocumentsLesson

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
CONTESTANTS = {
    "hierarchical attention": HierarchicalSettings(pooling="attention", d_model=48),
    "hierarchical averages": HierarchicalSettings(pooling="average", d_model=48),
    "flat attention": HierarchicalSettings(pooling="flat", d_model=48),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates of 32 documents."""
    lessons = {
        name: lambda seed, model=model: DocumentsLesson(TASK, model, SearchSettings(), seed)
        for name, model in CONTESTANTS.items()
    }
    figures = taught.compare(lessons, updates, RATE, seeds, advanced)
    attending, averaging = (taught.accuracy(figures, name) for name in list(CONTESTANTS)[:2])
    holds = attending >= 0.9 and attending >= averaging + 0.05
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return taught.table(finding.figures)


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    taught.plot(finding.figures, "Documents named by one word", 1 / TASK.num_classes, path)
