"""PE(pos + k) is a linear function of PE(pos), the same for every pos (Vaswani et al. 2017, §3.5)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from saccade.nn.positions import sinusoids
from saccade.reproduce.finding import Advanced, Finding

CLAIM = "For any fixed offset k, PE(pos + k) is a linear function of PE(pos) (Vaswani et al. 2017, §3.5)."
RULE = (
    "Turning each pair of sine and cosine by k times its frequency, a linear map that does not know pos, gives "
    "PE(pos + k) with a relative error of at most 0.0001, for every k from 1 to 64 and positions 200 to 399. For random "
    "vectors there is no such map: the best one on positions 0 to 199 is off by at least 0.5 there. On the mean of all "
    "seeds."
)
UPDATES, QUICK = 7, 3
"""How many offsets, each twice the one before, from 1 on."""
D_MODEL, FITTED, TESTED = 32, 200, 400


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
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
    worst = {name: max(_mean(figures, name, k) for k in offsets) for name in figures}
    least = min(_mean(figures, "random", k) for k in offsets)
    settings = {"d_model": D_MODEL, "offsets": offsets, "seeds": list(seeds)}
    return Finding(CLAIM, RULE, worst["sinusoids"] <= 0.0001 and least >= 0.5, settings, figures)


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


def _mean(figures: Mapping[str, Any], name: str, offset: int) -> float:
    return float(mean(run["error"][offset] for run in figures[name]["runs"]))


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    lines = ["| k | relative error, sinusoids | random vectors |", "|---|---|---|"]
    for offset in finding.settings["offsets"]:
        lines.append(
            f"| {offset} | {_mean(finding.figures, 'sinusoids', offset):.1e} | "
            f"{_mean(finding.figures, 'random', offset):.2f} |"
        )
    return "\n".join(lines)


def plot(finding: Finding, path: Path) -> None:
    """Error against offset."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(5.4, 3.2), layout="constrained")
    axes, offsets = figure.subplots(), finding.settings["offsets"]
    for name, style in (("sinusoids", "o-"), ("random", "s-")):
        axes.plot(offsets, [_mean(finding.figures, name, offset) for offset in offsets], style, label=name)
    axes.set(xscale="log", yscale="log", xlabel="offset k", ylabel="relative error", title="PE(pos + k) from PE(pos)")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
