"""A weight for every feature against one weight a token (Shen et al. 2018, §3.1), where two facets are asked for."""

from collections.abc import Sequence
from pathlib import Path

from saccade.reproduce import taught
from saccade.reproduce.finding import Advanced, Finding
from saccade.search.settings import SearchSettings
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.facets.task import FacetsLesson

CLAIM = (
    "Attention with a weight for each feature tells apart the meanings that a token has in different respects, which "
    "one weight a token cannot (DiSAN, Shen et al. 2018, §3.1)."
)
RULE = (
    "Where one vector is to carry the colour of one thing and the form of another, accuracy with weights for every "
    "feature is at least 0.05 above that with one weight a token, on the mean of all seeds."
)
UPDATES, QUICK, RATE = 400, 60, 0.003
TASK = FacetsSettings()
CONTESTANTS = {
    "a weight for each feature": MultiDimensionalSettings(pooling="features"),
    "one weight a token": MultiDimensionalSettings(pooling="scalar"),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every contestant for so many updates of 64 sequences."""
    lessons = {
        name: lambda seed, model=model: FacetsLesson(TASK, model, SearchSettings(), seed)
        for name, model in CONTESTANTS.items()
    }
    figures = taught.compare(lessons, updates, RATE, seeds, advanced)
    several, one = (taught.accuracy(figures, name) for name in CONTESTANTS)
    return Finding(
        CLAIM, RULE, several >= one + 0.05, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures
    )


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return taught.table(finding.figures)


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    taught.plot(finding.figures, "Two facets through one vector", 1 / TASK.num_values**2, path)
