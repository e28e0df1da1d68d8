"""Gradients vanish or explode over time (Pascanu et al. 2013, §2), and gates that stay open carry them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch.nn.utils import clip_grad_norm_

from saccade.reproduce.figures import (
    COSTS,
    Figures,
    average,
    costs,
    draw_lines,
    markdown,
    plotted,
    spread,
    values,
)
from saccade.reproduce.finding import Advanced, Finding, silent

UPDATES, QUICK = 1000, 15
D_STATE, BATCH, NUM_TESTED = 64, 32, 500
NUM_SYMBOLS = 8
"""That may stand at the beginning, and in the noise after it: what is to be recalled must be kept from it."""
D_INPUT = NUM_SYMBOLS + 1
"""A symbol, and a flag at the one to be recalled."""
MEASURED = (1, 5, 10, 20, 40, 60)
LAGS = (10, 30, 60)
LARGE, OPEN = 5.0, 5.0
STEEP = ("large weights, clipped", "large weights, not clipped")


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrent layer, and how its first parameters differ from torch's usual ones."""

    layer: Callable[..., nn.RNNBase]
    times: float = 1.0
    """Factor of the recurrent weights."""
    forget: float | None = None
    """Bias of an LSTM's forget gates."""

    def build(self, d_input: int, d_state: int) -> nn.RNNBase:
        """A new layer, drawn from torch's global generator."""
        layer = self.layer(d_input, d_state)
        with torch.no_grad():
            layer.get_parameter("weight_hh_l0").mul_(self.times)
            if self.forget is not None:
                # torch adds two biases, each of input, forget, cell and output gates in this order.
                layer.get_parameter("bias_ih_l0")[d_state : 2 * d_state] = self.forget
                layer.get_parameter("bias_hh_l0")[d_state : 2 * d_state] = 0.0
        return layer


LAYERS = {
    "Elman RNN": Recurrence(nn.RNN),
    "Elman RNN, large weights": Recurrence(nn.RNN, times=LARGE),
    "GRU": Recurrence(nn.GRU),
    "LSTM": Recurrence(nn.LSTM),
    "LSTM, open": Recurrence(nn.LSTM, forget=OPEN),
}


def run(*, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = silent) -> Finding:
    """Measure every layer's gradient before training, then teach it to recall over every lag."""
    figures: dict[str, Any] = {}
    for name, recurrence in LAYERS.items():
        runs = []
        for seed in seeds:
            norms, began = gradient_norms(_build(recurrence, seed), max(MEASURED), seed), time.process_time()

            def tell(update: int, name: str = name) -> None:
                advanced(name, update, updates)

            accuracy = {lag: recall(recurrence, lag, updates, seed, tell) for lag in LAGS}
            seconds = round(time.process_time() - began, 1)
            gradient = {lag: norms[lag] for lag in MEASURED}
            runs.append({"seed": seed, "cpu_seconds": seconds, "gradient": gradient, "accuracy": accuracy})
        parameters = sum(parameter.numel() for parameter in _build(recurrence, seed).parameters())
        figures[name] = {"parameters": parameters, "updates": updates, "runs": runs}
    for name in STEEP:
        runs = [{"seed": seed, "loss": last_loss(updates, seed, clips=name == STEEP[0])} for seed in seeds]
        figures[name] = {"runs": runs}
    settings = {"updates": updates, "batch": BATCH, "d_state": D_STATE, "seeds": list(seeds)}
    return Finding.of("gradients", _holds(figures), settings, figures)


def gradient_norms(layer: nn.RNNBase, longest: int, seed: int) -> list[float]:
    """By lag: the mean norm of the gradient that a random direction of the last state has at the input so long ago."""
    random = torch.Generator().manual_seed(seed)
    inputs = _sequences(random, longest)[0].requires_grad_()
    states, _ = layer(inputs)
    (states[-1] * torch.randn(states[-1].shape, generator=random)).sum().backward()
    assert inputs.grad is not None
    return [float(norm) for norm in inputs.grad.norm(dim=-1).mean(dim=1).flip(0)]


def recall(
    recurrence: Recurrence, lag: int, updates: int, seed: int, advanced: Callable[[int], None] = lambda update: None
) -> float:
    """Learn to say what stood `lag` steps ago, by Adam with clipping; the accuracy on new sequences."""
    model, random = _Recalling(_build(recurrence, seed)), torch.Generator().manual_seed(seed)
    _train(model, torch.optim.Adam(model.parameters(), lr=0.003, fused=True), random, lag, updates, advanced)
    with torch.inference_mode():
        inputs, first = _sequences(random, lag, NUM_TESTED)
        return float((model(inputs).argmax(dim=-1) == first).float().mean())


def last_loss(updates: int, seed: int, *, clips: bool) -> float:
    """Of an RNN with large weights after plain gradient descent over the shortest lag; the mean of the last tenth."""
    model = _Recalling(_build(LAYERS["Elman RNN, large weights"], seed))
    optimizer, random = torch.optim.SGD(model.parameters(), lr=0.5), torch.Generator().manual_seed(seed)
    losses = _train(model, optimizer, random, LAGS[0], updates, clips=clips)
    return mean(losses[-max(1, updates // 10) :])


class _Recalling(nn.Module):
    """A recurrent layer, and a linear one that names a symbol after the last step."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer, self.output = layer, nn.Linear(layer.hidden_size, NUM_SYMBOLS)

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.output(self.layer(inputs)[0][-1])
        return logits


def _train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    random: torch.Generator,
    lag: int,
    updates: int,
    advanced: Callable[[int], None] = lambda update: None,
    *,
    clips: bool = True,
) -> list[float]:
    """The loss of each update. A loop of its own, as clipping and plain descent are what is looked at."""
    losses = []
    for update in range(1, updates + 1):
        inputs, first = _sequences(random, lag)
        loss = cross_entropy(model(inputs), first)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if clips:
            clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        advanced(update)
    return losses


def _build(recurrence: Recurrence, seed: int) -> nn.RNNBase:
    torch.manual_seed(seed)
    return recurrence.build(D_INPUT, D_STATE)


def _sequences(random: torch.Generator, lag: int, count: int = BATCH) -> tuple[Tensor, Tensor]:
    """A symbol with a flag and so many steps of noise, one-hot with time first; and the symbols."""
    symbols = torch.randint(NUM_SYMBOLS, (lag + 1, count), generator=random)
    inputs = one_hot(symbols, D_INPUT).float()
    inputs[0, :, NUM_SYMBOLS] = 1.0
    return inputs, symbols[0]


def _holds(figures: Figures) -> bool:
    kept = {name: average(figures, name, "gradient", 40) / average(figures, name, "gradient", 1) for name in LAYERS}
    recalled = {name: average(figures, name, "accuracy", LAGS[-1]) for name in LAYERS}
    flows = kept["Elman RNN"] <= 0.001 and kept["Elman RNN, large weights"] >= 1000 and kept["LSTM, open"] > 0.1
    learned = recalled["LSTM, open"] >= 0.9 and recalled["Elman RNN"] <= 0.5
    clipped, plain = (average(figures, name, "loss") for name in STEEP)
    return flows and learned and clipped < 0.1 and plain > 1


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found, rows = finding.figures, []
    for name in LAYERS:
        gradients = [f"{average(found, name, 'gradient', lag):.1e}" for lag in MEASURED]
        accuracies = [spread(values(found, name, "accuracy", lag)) for lag in LAGS]
        rows.append([name, *gradients, *accuracies, *costs(found, name)])
    heads = [f"gradient at lag {lag}" for lag in MEASURED] + [f"accuracy after {lag}" for lag in LAGS]
    losses = [[name, f"{average(found, name, 'loss'):.2f}"] for name in STEEP]
    return markdown(["", *heads, *COSTS], rows) + "\n\n" + markdown(["plain gradient descent", "last loss"], losses)


def plot(finding: Finding, path: Path) -> None:
    """Gradient and accuracy against lag."""
    with plotted(path, 8.4, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        draw_lines(left, finding.figures, LAYERS, "gradient", MEASURED)
        draw_lines(right, finding.figures, LAYERS, "accuracy", LAGS)
        left.set(yscale="log", xlabel="steps ago", ylabel="gradient before training")
        left.legend(frameon=False, fontsize=7)
        right.axhline(1 / NUM_SYMBOLS, color="0.4", linestyle=":")
        right.set(xlabel="steps of noise", ylabel="accuracy of recall", ylim=(0, 1.03))
