"""PE(pos + k) is a linear function of PE(pos), the same for every pos (Vaswani et al. 2017, §3.5)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.nn.positions import sinusoids
from saccade.reproduce.figures import average, markdown, plot_lines
from saccade.reproduce.finding import Advanced, Finding, silent

UPDATES, QUICK = 7, 3
"""How many offsets, each twice the one before, from 1 on."""
D_MODEL, FITTED, TESTED = 32, 200, 400


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Find a map for every offset, and try it on positions that it was not made for."""
    offsets = [2**power for power in range(updates)]
    length = TESTED + offsets[-1]
    figures: dict[str, Any] = {"sinusoids": {"runs": []}, "random": {"runs": []}}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        tables = {
            "sinusoids": sinusoids(length, D_MODEL).double(),
            "random": torch.randn(length, D_MODEL, generator=generator, dtype=torch.float64),
        }
        for name, vectors in tables.items():
            maps = {k: turned(k) if name == "sinusoids" else fitted(vectors, k) for k in offsets}
            errors = {k: error(vectors, k, linear) for k, linear in maps.items()}
            figures[name]["runs"].append({"seed": seed, "error": errors})
    turning, guessing = ([average(figures, name, "error", k) for k in offsets] for name in figures)
    settings = {"d_model": D_MODEL, "offsets": offsets, "seeds": list(seeds)}
    return Finding.of("positions", max(turning) <= 0.0001 and min(guessing) >= 0.5, settings, figures)


def turned(offset: int) -> Tensor:
    """The map from PE(pos) to PE(pos + k): sin(a + b) = sin a cos b + cos a sin b, and cos likewise."""
    angles = offset * 10000.0 ** (-2.0 * torch.arange(D_MODEL // 2, dtype=torch.float64) / D_MODEL)
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat([torch.cat([cos, -sin], dim=1), torch.cat([sin, cos], dim=1)])


def fitted(vectors: Tensor, offset: int) -> Tensor:
    """The linear map that is best on the first positions."""
    solution: Tensor = torch.linalg.lstsq(vectors[:FITTED], vectors[offset : FITTED + offset], driver="gelsd").solution
    return solution


def error(vectors: Tensor, offset: int, linear: Tensor) -> float:
    """How far a linear map is off on the later positions, relative to their size."""
    wanted = vectors[FITTED + offset : TESTED + offset]
    return float((vectors[FITTED:TESTED] @ linear - wanted).norm() / wanted.norm())


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found = finding.figures
    rows = [
        [k, f"{average(found, 'sinusoids', 'error', k):.1e}", f"{average(found, 'random', 'error', k):.2f}"]
        for k in finding.settings["offsets"]
    ]
    return markdown(["k", "relative error, sinusoids", "random vectors"], rows)


def plot(finding: Finding, path: Path) -> None:
    """Error against offset."""
    labels: dict[str, Any] = {"xlabel": "offset k", "ylabel": "relative error", "title": "PE(pos + k) from PE(pos)"}
    plot_lines(finding.figures, "error", path, xscale="log", yscale="log", **labels)
