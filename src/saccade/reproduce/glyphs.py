"""Self-attention lets a place of a feature map see beyond its receptive field (Zhang et al. 2019, §3)."""

from functools import partial

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average
from saccade.tasks.glyphs.settings import FeatureMapSettings, GlyphsSettings
from saccade.tasks.glyphs.task import GlyphsTask

UPDATES, QUICK, RATE = 3000, 300, 0.005
TASK = GlyphsSettings()
MODELS = {
    "self-attention": FeatureMapSettings(),
    "none": FeatureMapSettings(attends=False),
    "none, six wide layers": FeatureMapSettings(attends=False, layers=6, kernel=3),
}
CONTESTANTS = {name: Contestant(partial(GlyphsTask, TASK, model), RATE) for name, model in MODELS.items()}


def _holds(figures: Figures) -> bool:
    attending, local = (average(figures, name, "accuracy") for name in list(CONTESTANTS)[:2])
    return attending >= 0.8 and local <= 0.25


CONTEST = Contest(
    "glyphs", CONTESTANTS, _holds, TASK.batch, title="Naming a glyph from afar", chance=1 / TASK.num_glyphs
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
