"""Reversing the source helps a fixed vector (Sutskever et al. 2014, §3.3 and Table 1), on strings to be copied."""

from functools import partial
from statistics import mean
from typing import Any

from saccade.engines.torch import TorchEngine
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.reproduce.contest import Contest, Contestant
from saccade.reproduce.figures import Figures, average, sizes_of
from saccade.reproduce.finding import Finding
from saccade.reproduce.pairs_task import PairsTask
from saccade.reproduce.strings import BATCH, NUM_TOKENS, share_right, string_batches

UPDATES, QUICK, RATE = 1000, 40, 0.003
LONGEST, NUM_TESTED = 12, 100
TITLE = "Strings copied by way of one vector, the source read forwards or backwards"
LENGTHS = tuple(range(3, LONGEST + 1))
"""Shorter strings are left out: training has seen most of them."""
MODELS = {
    name: RecurrentSettings(
        cell="lstm",
        d_model=128,
        bidirectional=False,
        reverses_source=reverses,
        dropout=0.0,
        attention=AttentionSettings(positions="none"),
    )
    for name, reverses in {"forwards": False, "backwards": True}.items()
}


BATCHES = partial(string_batches, LONGEST, step=1)
CONTESTANTS = {name: Contestant(partial(PairsTask, model, NUM_TOKENS, BATCHES), RATE) for name, model in MODELS.items()}


def measure(task: PairsTask, model: Any) -> dict[str, dict[int, float]]:
    """The share of new strings that are copied without a mistake, by length."""
    engine = TorchEngine(model)
    return {
        "exact match": {length: share_right(engine, length, task.seed, count=NUM_TESTED, step=1) for length in LENGTHS}
    }


def _over_lengths(figures: Figures, name: str) -> float:
    return mean(average(figures, name, "exact match", length) for length in sizes_of(figures, "exact match"))


def _holds(figures: Figures) -> bool:
    return _over_lengths(figures, "backwards") - _over_lengths(figures, "forwards") >= 0.1


CONTEST = Contest("reversal", CONTESTANTS, _holds, BATCH, measure, ("exact match",), TITLE, size="length")
run, plot = CONTEST.run, CONTEST.plot


def table(finding: Finding) -> str:
    """The figures in Markdown, and their means over all lengths."""
    means = ", ".join(f"{name} {_over_lengths(finding.figures, name):.3f}" for name in finding.figures)
    return f"{CONTEST.table(finding)}\n\nMean over all lengths: {means}."
