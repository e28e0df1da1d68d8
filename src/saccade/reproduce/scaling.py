"""Why scores are divided by √d_k (Vaswani et al. 2017, §3.2.1): large ones saturate the softmax."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from saccade.reproduce.finding import Advanced, Finding

CLAIM = (
    "For large d_k, inner products grow large and push the softmax into regions with extremely small gradients; "
    "dividing by √d_k counteracts this (Vaswani et al. 2017, §3.2.1)."
)
RULE = (
    "For random queries and keys of unit variance and 32 keys: without scaling, the largest weight grows with d_k to "
    "above 0.9 at 16384, and the gradient of the weights with respect to the scores falls below a tenth of what it is "
    "at d_k = 4; with scaling, both change by less than a factor of 1.5 from 4 to 16384. On the mean of all seeds."
)
UPDATES, QUICK = 100, 20
"""How many queries are drawn for each size."""
SIZES = (4, 16, 64, 256, 1024, 4096, 16384)
NUM_KEYS = 32
KINDS = ("plain", "scaled")


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Draw queries and keys of every size, and look at what the softmax makes of their products."""
    figures: dict[str, Any] = {kind: {"runs": []} for kind in KINDS}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        drawn = {size: _scores(size, updates, generator) for size in SIZES}
        for kind in KINDS:
            scores = {size: each / size**0.5 if kind == "scaled" else each for size, each in drawn.items()}
            figures[kind]["runs"].append({"seed": seed, **_looked_at(scores)})
    return Finding(CLAIM, RULE, _holds(figures), {"queries": updates, "keys": NUM_KEYS, "seeds": list(seeds)}, figures)


def _scores(d_key: int, count: int, generator: torch.Generator) -> Tensor:
    query = torch.randn(count, 1, d_key, generator=generator)
    keys = torch.randn(count, NUM_KEYS, d_key, generator=generator)
    return (query @ keys.mT)[:, 0]


def _looked_at(scores: Mapping[int, Tensor]) -> dict[str, dict[int, float]]:
    """The mean largest weight, and the mean norm of ∂weights/∂scores, which is diag(w) - wwᵀ."""
    weights = {size: each.softmax(dim=-1) for size, each in scores.items()}
    jacobians = {size: each.diag_embed() - each[:, :, None] * each[:, None] for size, each in weights.items()}
    return {
        "largest weight": {size: float(each.amax(dim=-1).mean()) for size, each in weights.items()},
        "gradient": {size: float(each.flatten(1).norm(dim=1).mean()) for size, each in jacobians.items()},
    }


def _mean(figures: Mapping[str, Any], kind: str, what: str, size: int) -> float:
    return float(mean(run[what][size] for run in figures[kind]["runs"]))


def _holds(figures: Mapping[str, Any]) -> bool:
    plain_weight, plain_gradient = (_mean(figures, "plain", what, SIZES[-1]) for what in ("largest weight", "gradient"))
    saturates = plain_weight > 0.9 and plain_gradient < 0.1 * _mean(figures, "plain", "gradient", SIZES[0])
    ratios = [
        _mean(figures, "scaled", what, SIZES[-1]) / _mean(figures, "scaled", what, SIZES[0])
        for what in ("largest weight", "gradient")
    ]
    return saturates and all(1 / 1.5 < ratio < 1.5 for ratio in ratios)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    lines = ["| d_k | largest weight, plain | scaled | gradient, plain | scaled |", "|---|---|---|---|---|"]
    for size in SIZES:
        cells = [
            f"{_mean(finding.figures, kind, what, size):.3f}"
            for what in ("largest weight", "gradient")
            for kind in KINDS
        ]
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Largest weight and gradient against d_k."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    for axes, what in zip(figure.subplots(1, 2), ("largest weight", "gradient"), strict=True):
        for kind, style in zip(KINDS, ("s-", "o-"), strict=True):
            axes.plot(SIZES, [_mean(finding.figures, kind, what, size) for size in SIZES], style, label=kind)
        axes.set(xscale="log", xlabel="d_k", title=what)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
