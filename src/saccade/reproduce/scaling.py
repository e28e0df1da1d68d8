"""Why scores are divided by √d_k (Vaswani et al. 2017, §3.2.1): large ones saturate the softmax."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.reproduce.figures import Figures, average, draw_lines, markdown, plotted
from saccade.reproduce.finding import Advanced, Finding, silent

UPDATES, QUICK = 100, 20
"""How many queries are drawn for each size."""
SIZES = (4, 16, 64, 256, 1024, 4096, 16384)
NUM_KEYS = 32
KINDS, MEASURES = ("plain", "scaled"), ("largest weight", "gradient")


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Draw queries and keys of every size, and look at what the softmax makes of their products."""
    figures: dict[str, Any] = {kind: {"runs": []} for kind in KINDS}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        drawn = {size: _scores(size, updates, generator) for size in SIZES}
        for kind in KINDS:
            scores = {size: each / size**0.5 if kind == "scaled" else each for size, each in drawn.items()}
            figures[kind]["runs"].append({"seed": seed, **_looked_at(scores)})
    return Finding.of("scaling", _holds(figures), {"queries": updates, "keys": NUM_KEYS, "seeds": list(seeds)}, figures)


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


def _holds(figures: Figures) -> bool:
    smallest, largest = SIZES[0], SIZES[-1]
    plain_weight, plain_gradient = (average(figures, "plain", what, largest) for what in MEASURES)
    saturates = plain_weight > 0.9 and plain_gradient < 0.1 * average(figures, "plain", "gradient", smallest)
    ratios = [
        average(figures, "scaled", what, largest) / average(figures, "scaled", what, smallest) for what in MEASURES
    ]
    return saturates and all(1 / 1.5 < ratio < 1.5 for ratio in ratios)


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    rows = [
        [size, *(f"{average(finding.figures, kind, what, size):.3f}" for what in MEASURES for kind in KINDS)]
        for size in SIZES
    ]
    return markdown(["d_k", "largest weight, plain", "scaled", "gradient, plain", "scaled"], rows)


def plot(finding: Finding, path: Path) -> None:
    """Largest weight and gradient against d_k."""
    with plotted(path, 7.2, 3.2) as figure:
        for axes, what in zip(figure.subplots(1, 2), MEASURES, strict=True):
            draw_lines(axes, finding.figures, KINDS, what, SIZES)
            axes.set(xscale="log", xlabel="d_k")
            axes.legend(frameon=False)
