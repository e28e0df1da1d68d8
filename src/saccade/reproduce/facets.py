"""A weight for every feature against one weight a token (Shen et al. 2018, §3.1), where two facets are asked for."""

from functools import partial

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.facets.task import FacetsTask

UPDATES, QUICK, RATE = 400, 60, 0.003
TASK = FacetsSettings()
MODELS = {
    "a weight for each feature": MultiDimensionalSettings(pooling="features"),
    "one weight a token": MultiDimensionalSettings(pooling="scalar"),
}
CONTESTANTS = {name: Contestant(partial(FacetsTask, TASK, model), RATE) for name, model in MODELS.items()}


def _holds(figures: Figures) -> bool:
    several, one = (average(figures, name, "accuracy") for name in CONTESTANTS)
    return several >= one + 0.05


CONTEST = Contest(
    "facets", CONTESTANTS, _holds, TASK.batch, title="Two facets through one vector", chance=1 / TASK.num_values**2
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
