"""A weight for every feature against one weight a token (Shen et al. 2018, §3.1), where two facets are asked for."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from saccade.reproduce.contest import Contestant, compare, evaluate
from saccade.reproduce.figures import average, contestants_table, plot_bars
from saccade.reproduce.finding import Advanced, Finding, silent
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.facets.task import FacetsTask

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
MODELS = {
    "a weight for each feature": MultiDimensionalSettings(pooling="features"),
    "one weight a token": MultiDimensionalSettings(pooling="scalar"),
}
CONTESTANTS = {name: Contestant(partial(FacetsTask, TASK, model), RATE) for name, model in MODELS.items()}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Train every contestant on so many batches of 64 sequences."""
    figures = compare(CONTESTANTS, evaluate, updates, seeds, advanced)
    several, one = (average(figures, name, "accuracy") for name in CONTESTANTS)
    holds = several >= one + 0.05
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": TASK.batch, "seeds": list(seeds)}, figures)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    return contestants_table(finding.figures, "accuracy")


def plot(finding: Finding, path: Path) -> None:
    """Accuracy, a bar for each contestant."""
    plot_bars(finding.figures, ["accuracy"], path, "Two facets through one vector", chance=1 / TASK.num_values**2)
