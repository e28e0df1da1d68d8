"""Attention over words and sentences beats averages of them (Yang et al. 2016, Table 2), on generated documents."""

from functools import partial

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.tasks.documents.settings import DocumentsSettings, HierarchicalSettings
from saccade.tasks.documents.task import DocumentsTask

UPDATES, QUICK, RATE = 600, 60, 0.003
TASK = DocumentsSettings(min_sentences=10, max_sentences=30, num_words=10, num_classes=6)
MODELS = {
    "hierarchical attention": HierarchicalSettings(pooling="attention", d_model=48),
    "hierarchical averages": HierarchicalSettings(pooling="average", d_model=48),
    "flat attention": HierarchicalSettings(pooling="flat", d_model=48),
}
CONTESTANTS = {name: Contestant(partial(DocumentsTask, TASK, model), RATE) for name, model in MODELS.items()}


def _holds(figures: Figures) -> bool:
    attending, averaging = (average(figures, name, "accuracy") for name in list(CONTESTANTS)[:2])
    return attending >= 0.9 and attending >= averaging + 0.05


CONTEST = Contest(
    "hierarchical", CONTESTANTS, _holds, TASK.batch, title="Documents named by one word", chance=1 / TASK.num_classes
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
