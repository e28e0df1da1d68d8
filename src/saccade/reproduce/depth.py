"""Gradients of a deep stack of Transformer layers, with and without residual connections and layer norm."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from saccade.nn.transformer import EncoderLayer, LayerShape
from saccade.reproduce.figures import Figures, average, markdown, plot_lines
from saccade.reproduce.finding import Advanced, Finding, silent

UPDATES, QUICK = 5, 1
"""How many batches the gradients of each encoder are averaged over."""
DEPTHS = (2, 4, 8, 16, 32)
SHAPE = LayerShape(
    d_model=64,
    d_feedforward=128,
    num_heads=4,
    activation="relu",
    dropout=0.0,
    attention_dropout=0.0,
    activation_dropout=0.0,
    norm_first=False,
)
BATCH, LENGTH = 4, 16


class Around(nn.Module):
    """Stands in for `Residual`: the same verbs, with either of its two parts left out."""

    def __init__(self, d_model: int, *, residual: bool, norm: bool) -> None:
        super().__init__()
        self.residual = residual
        self.norm = nn.LayerNorm(d_model) if norm else nn.Identity()

    def enter(self, states: Tensor) -> Tensor:
        """What the sub-layer reads."""
        return states

    def leave(self, states: Tensor, update: Tensor) -> Tensor:
        """The sub-layer's update, with the states or alone."""
        left: Tensor = self.norm(states + update if self.residual else update)
        return left


@dataclass(frozen=True, slots=True)
class Kind:
    """What stands around every sub-layer; where a norm comes first, that of the model itself."""

    residual: bool
    norm: bool
    norm_first: bool = False

    def build(self, layers: int) -> nn.ModuleList:
        """A new stack, drawn from torch's global generator."""
        stack = nn.ModuleList(EncoderLayer(replace(SHAPE, norm_first=self.norm_first)) for _ in range(layers))
        if not self.norm_first:
            for layer in stack:
                for place in ("around_attention", "around_feed_forward"):
                    setattr(layer, place, Around(SHAPE.d_model, residual=self.residual, norm=self.norm))
        return stack


KINDS = {
    "neither": Kind(residual=False, norm=False),
    "norm": Kind(residual=False, norm=True),
    "residual": Kind(residual=True, norm=False),
    "residual, then norm": Kind(residual=True, norm=True),
    "norm first, residual": Kind(residual=True, norm=True, norm_first=True),
}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Compare the gradients of what enters the first and the last layer, at every depth."""
    figures: dict[str, Any] = {}
    for name, kind in KINDS.items():
        figures[name] = {"runs": [{"seed": seed, "ratio": {}} for seed in seeds]}
        for done, depth in enumerate(DEPTHS, start=1):
            for run in figures[name]["runs"]:
                torch.manual_seed(run["seed"])
                norms = gradient_norms(kind.build(depth), updates)
                run["ratio"][depth] = norms[0] / norms[-1]
            advanced(name, done, len(DEPTHS))
    settings = {"batches": updates, "d_model": SHAPE.d_model, "seeds": list(seeds)}
    return Finding.of("depth", _holds(figures), settings, figures)


def gradient_norms(stack: nn.ModuleList, batches: int) -> list[float]:
    """Of the states that enter each layer, for random inputs and a random direction of the last: mean over batches.

    Not of parameters: where states shrink from layer to layer, the last layer's gradient is small for that reason
    alone. In double precision, so that what has vanished is still a number.
    """
    stack.double()
    found = []
    for _ in range(batches):
        states, direction = torch.randn(2, BATCH, LENGTH, SHAPE.d_model, dtype=torch.float64)
        entered = []
        for layer in stack:
            entered.append(states.requires_grad_())
            states = layer(states, None)
        gradients = torch.autograd.grad((states * direction).sum(), entered)
        found.append([float(each.norm()) for each in gradients])
    return [mean(each) for each in zip(*found, strict=True)]


def _holds(figures: Figures) -> bool:
    flows = average(figures, "norm first, residual", "ratio", DEPTHS[-1])
    return average(figures, "neither", "ratio", DEPTHS[-1]) <= 0.001 and 1 / 30 <= flows <= 30


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    rows = [
        [name, *(f"{average(finding.figures, name, 'ratio', depth):.1e}" for depth in DEPTHS)]
        for name in finding.figures
    ]
    return markdown(["gradient at the first layer / last", *(f"{depth} layers" for depth in DEPTHS)], rows)


def plot(finding: Finding, path: Path) -> None:
    """The ratio against depth."""
    labels: dict[str, Any] = {"xlabel": "layers", "ylabel": "gradient, first layer / last"}
    plot_lines(finding.figures, "ratio", path, xscale="log", yscale="log", **labels)
