"""Image and question that lead each other beat either alone (Lu et al. 2016, Table 3 and 4), on generated scenes."""

from functools import partial

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.tasks.scenes.task import ScenesTask

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


def _holds(figures: Figures) -> bool:
    shares = [average(figures, name, "accuracy") for name in CONTESTANTS]
    return min(shares[:2]) >= 0.8 and min(shares[:2]) >= max(shares[2:]) + 0.2


CONTEST = Contest(
    "coattention", CONTESTANTS, _holds, TASK.batch, title="Questions about scenes", chance=1 / TASK.num_colours
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
