"""What the parts of a Transformer are worth (Vaswani et al. 2017, Table 3), in small, on strings written backwards."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.data.batch import Batch
from saccade.engines.torch import TorchEngine
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.nn import dropout
from saccade.reproduce.claim import train
from saccade.reproduce.finding import Advanced, Finding, spread
from saccade.reproduce.strings import NUM_TOKENS, random_strings, reversal_batch
from saccade.search.settings import SearchSettings

CLAIM = (
    "A Transformer has no recurrence and no convolution: without positions it cannot make use of order (Vaswani et al. "
    "2017, §3.5). Fewer heads, smaller keys, no dropout and no label smoothing make it worse, and positions that are "
    "learned do as well as sinusoids (Table 3)."
)
RULE = (
    "Of strings of 8 letters, at most 0.05 are written backwards without a mistake by a model without positions, and "
    "at least 0.9 with sinusoids, on the mean of all seeds. The other rows are told, and judge nothing."
)
UPDATES, QUICK, RATE = 600, 12, 0.003
LONGEST, TESTED, NUM_TESTED, BATCH = 10, 8, 100, 64
BASE = TransformerSettings(layers=2, d_model=64, d_feedforward=128, num_heads=4, norm="pre", dropout=0.1)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: in what it differs from the first."""

    settings: TransformerSettings = BASE
    smoothing: float = 0.1
    positions: Literal["sinusoids", "learned", "none"] = "sinusoids"


ROWS = {
    "base: 4 heads, d_k 16": Row(),
    "1 head, d_k 64": Row(replace(BASE, num_heads=1)),
    "16 heads, d_k 4": Row(replace(BASE, num_heads=16)),
    "1 layer": Row(replace(BASE, layers=1)),
    "dropout 0": Row(replace(BASE, dropout=0.0)),
    "label smoothing 0": Row(smoothing=0.0),
    "learned positions": Row(positions="learned"),
    "without positions": Row(positions="none"),
}
WITH, WITHOUT = "base: 4 heads, d_k 16", "without positions"


class LearnedPositions(nn.Module):
    """Stands in for `Positions`, with a vector for each position that is learned like any other (Table 3, row E)."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.table = nn.Embedding(LONGEST + 2, settings.d_model)  # the longest string, its end, and one to spare

    def forward(
        self, states: Float[Tensor, "batch positions d_model"], start: int = 0
    ) -> Float[Tensor, "batch positions d_model"]:
        """The first vector stands at position `start`; behind the table's end, at its last."""
        places = torch.arange(start, start + states.shape[1]).clamp(max=self.table.num_embeddings - 1)
        placed: Tensor = states + self.table(places)
        return placed


class NoPositions(nn.Module):
    """Stands in for `Positions`, and adds nothing."""

    def forward(
        self, states: Float[Tensor, "batch positions d_model"], start: int = 0
    ) -> Float[Tensor, "batch positions d_model"]:
        """The states as they came."""
        return states


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Train every row for so many updates of 64 strings, and test it on new ones."""
    figures: dict[str, Any] = {}
    for name, row in ROWS.items():
        runs = []
        for seed in seeds:
            learned = train(
                built(row, seed),
                _batches(seed),
                updates=updates,
                rate=RATE,
                seed=seed,
                smoothing=row.smoothing,
                advanced=lambda done, name=name: advanced(name, done, updates),  # type: ignore[misc]
            )
            runs.append(
                {"seed": seed, "cpu_seconds": learned.cpu_seconds, **measured(TorchEngine(learned.model), seed)}
            )
        figures[name] = {"parameters": learned.num_parameters, "runs": runs}
    holds = _mean(figures, WITHOUT, "exact match") <= 0.05 and _mean(figures, WITH, "exact match") >= 0.9
    return Finding(CLAIM, RULE, holds, {"updates": updates, "batch": BATCH, "seeds": list(seeds)}, figures)


def built(row: Row, seed: int) -> Model:
    """A new model of a row."""
    dropout.seed(seed)
    model = build(row.settings, NUM_TOKENS, NUM_TOKENS)
    if row.positions == "learned":
        model.positions = LearnedPositions(row.settings)
    elif row.positions == "none":
        model.positions = NoPositions()
    return model


def measured(engine: TorchEngine, seed: int) -> dict[str, float]:
    """Perplexity of new strings written backwards, and the share that greedy search writes without a mistake."""
    strings = random_strings(np.random.default_rng((seed, 1)), NUM_TESTED, TESTED, TESTED)
    sources, targets = [each.tolist() for each in strings], [each[::-1].tolist() for each in strings]
    found = engine.translate(sources, SearchSettings(beam=1))
    log_probs = [each for line in engine.token_log_probs(sources, targets) for each in line]
    return {
        "perplexity": math.exp(-mean(log_probs)),
        "exact match": mean(each[0].ids == tuple(target) for each, target in zip(found, targets, strict=True)),
    }


def _batches(seed: int) -> Iterator[Batch]:
    random = np.random.default_rng((seed, 0))
    while True:
        yield reversal_batch(random, BATCH, 1, LONGEST)


def _mean(figures: Mapping[str, Any], name: str, what: str) -> float:
    return mean(_values(figures, name, what))


def _values(figures: Mapping[str, Any], name: str, what: str) -> list[float]:
    return [run[what] for run in figures[name]["runs"]]


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    lines = ["| | perplexity | exact match | parameters | CPU seconds |", "|---|---|---|---|---|"]
    for name in ROWS:
        cells = [spread(_values(finding.figures, name, "perplexity"), 2)]
        cells += [spread(_values(finding.figures, name, "exact match")), f"{finding.figures[name]['parameters']:,}"]
        lines.append(f"| {name} | {' | '.join(cells)} | {_mean(finding.figures, name, 'cpu_seconds'):.0f} |")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Exact match, a bar for each row and a dot for each seed."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(ROWS):
        found = [run["exact match"] for run in finding.figures[name]["runs"]]
        axes.barh(place, mean(found), color="#4878a8", height=0.6)
        axes.plot(found, [place] * len(found), "o", color="black", markersize=4)
    axes.set(yticks=range(len(ROWS)), yticklabels=list(ROWS), xlim=(0, 1.02), xlabel="exact match")
    axes.invert_yaxis()
    figure.savefig(path, dpi=150)
