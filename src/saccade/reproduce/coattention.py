"""Image and question that lead each other beat either alone (Lu et al. 2016, Table 3 and 4), on generated scenes."""

from collections.abc import Sequence
from pathlib import Path

from saccade.reproduce import taught
from saccade.reproduce.finding import Advanced, Finding
from saccade.search.settings import SearchSettings
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.tasks.scenes.task import ScenesLesson

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
CONTESTANTS = {
    "parallel": CoAttentionSettings(reads="parallel"),
    "alternating": CoAttentionSettings(reads="alternating"),
    "means of both": CoAttentionSettings(reads="mean"),
    "image alone": CoAttentionSettings(reads="image"),
    "question alone": CoAttentionSettings(reads="question"),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates of 64 scenes."""
    lessons = {
        name: lambda seed, model=model: ScenesLesson(TASK, model, SearchSettings(), seed)
        for name, model in CONTESTANTS.items()
    }
    figures = taught.compare(lessons, updates, RATE, seeds, advanced)
    found = [taught.accuracy(figures, name) for name in CONTESTANTS]
    holds = min(found[:2]) >= 0.8 and min(found[:2]) >= max(found[2:]) + 0.2
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return taught.table(finding.figures)


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    taught.plot(finding.figures, "Questions about scenes", 1 / TASK.num_colours, path)
