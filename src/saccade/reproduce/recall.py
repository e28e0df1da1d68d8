"""A Turing machine recalls among more items than it was trained on (Graves et al. 2014, §4.3)."""

from functools import partial

from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, values
from saccade.reproduce.turing import CLIP, MEASURES, measure
from saccade.tasks.memory.settings import LstmSettings, RecallSettings, TuringSettings
from saccade.tasks.memory.task import MemoryTask

UPDATES, QUICK = 2000, 20
TASK = RecallSettings(batch=16)
ITEMS = (2, 4, 6, 8, 10, 12)
JUDGED, MOST_BITS, BITS_OF_LSTM = 8, 1.0, 9.0
MODELS: dict[str, TuringSettings | LstmSettings] = {
    "machine": TuringSettings(d_controller=128, rows=64, d_row=20, read_heads=2),
    "LSTM": LstmSettings(layers=3, d_model=128),
}
CONTESTANTS = {
    name: Contestant(partial(MemoryTask, TASK, model), 0.002, clip_norm=CLIP, holds_rate=True)
    for name, model in MODELS.items()
}


def _holds(figures: Figures) -> bool:
    machine, lstm = (values(figures, name, "bits per sequence", JUDGED) for name in MODELS)
    return bool(max(machine) <= MOST_BITS and min(lstm) > BITS_OF_LSTM)


CONTEST = Contest(
    "recall", CONTESTANTS, _holds, TASK.batch, partial(measure, ITEMS), MEASURES, size="items", largest=TASK.most
)
run, table, plot = CONTEST.run, CONTEST.table, CONTEST.plot
