"""Gradients vanish or explode over time (Pascanu et al. 2013, §2), and gates that stay open carry them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot
from torch.nn.utils import clip_grad_norm_

from saccade.reproduce.finding import Advanced, Finding, spread

CLAIM = (
    "Through a recurrent network, gradients vanish or explode with the number of steps; scaling down those that are "
    "too long deals with the explosion (Pascanu et al. 2013, §2 and §3.2), and a memory cell that keeps what it holds "
    "deals with the vanishing (Hochreiter & Schmidhuber 1997, §3)."
)
RULE = (
    "Before training, from a lag of 1 to one of 40 steps, the gradient of Elman's RNN falls to a thousandth or less; "
    "with recurrent weights five times as large it grows a thousandfold or more; that of an LSTM whose forget gates "
    "begin open stays above a tenth. After 60 steps of noise, the open LSTM says what stood at the beginning with an "
    "accuracy of at least 0.9, and Elman's RNN of at most 0.5. By plain gradient descent over 10 steps, the RNN with "
    "large weights ends with a loss below 0.1 if gradients are clipped and above 1 if not. On the mean of all seeds."
)
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
class Contestant:
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


CONTESTANTS = {
    "Elman RNN": Contestant(nn.RNN),
    "Elman RNN, large weights": Contestant(nn.RNN, times=LARGE),
    "GRU": Contestant(nn.GRU),
    "LSTM": Contestant(nn.LSTM),
    "LSTM, open": Contestant(nn.LSTM, forget=OPEN),
}


def run(
    *, updates: int = UPDATES, seeds: Sequence[int] = (1,), advanced: Advanced = lambda name, done, of: None
) -> Finding:
    """Measure every contestant's gradient before training, then teach it to recall over every lag."""
    figures: dict[str, Any] = {}
    for name, contestant in CONTESTANTS.items():
        runs = []
        for seed in seeds:
            norms = gradient_norms(_built(contestant, seed), max(MEASURED), seed)
            began = time.process_time()
            accuracy = {
                lag: recall(contestant, lag, updates, seed, lambda done, name=name: advanced(name, done, updates))  # type: ignore[misc]
                for lag in LAGS
            }
            seconds = round(time.process_time() - began, 1)
            gradient = {lag: norms[lag] for lag in MEASURED}
            runs.append({"seed": seed, "cpu_seconds": seconds, "gradient": gradient, "accuracy": accuracy})
        parameters = sum(each.numel() for each in _built(contestant, seed).parameters())
        figures[name] = {"parameters": parameters, "runs": runs}
    for name in STEEP:
        runs = [{"seed": seed, "loss": last_loss(updates, seed, clips=name == STEEP[0])} for seed in seeds]
        figures[name] = {"runs": runs}
    settings = {"updates": updates, "batch": BATCH, "d_state": D_STATE, "seeds": list(seeds)}
    return Finding(CLAIM, RULE, _holds(figures), settings, figures)


def gradient_norms(layer: nn.RNNBase, longest: int, seed: int) -> list[float]:
    """By lag: the mean norm of the gradient that a random direction of the last state has at the input so long ago."""
    random = torch.Generator().manual_seed(seed)
    inputs = _sequences(random, longest)[0].requires_grad_()
    states, _ = layer(inputs)
    (states[-1] * torch.randn(states[-1].shape, generator=random)).sum().backward()
    assert inputs.grad is not None
    return [float(each) for each in inputs.grad.norm(dim=-1).mean(dim=1).flip(0)]


def recall(
    contestant: Contestant, lag: int, updates: int, seed: int, advanced: Callable[[int], None] = lambda _: None
) -> float:
    """Learn to say what stood `lag` steps ago, by Adam with clipping, and tell the accuracy on new sequences."""
    layer = _built(contestant, seed)
    output = nn.Linear(layer.hidden_size, NUM_SYMBOLS)
    parameters = [*layer.parameters(), *output.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.003, fused=True)
    random = torch.Generator().manual_seed(seed)
    for update in range(1, updates + 1):
        inputs, first = _sequences(random, lag)
        optimizer.zero_grad()
        cross_entropy(output(layer(inputs)[0][-1]), first).backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        advanced(update)
    with torch.inference_mode():
        inputs, first = _sequences(random, lag, NUM_TESTED)
        said = output(layer(inputs)[0][-1]).argmax(dim=-1)
    return float((said == first).float().mean())


def last_loss(updates: int, seed: int, *, clips: bool) -> float:
    """Of an RNN with large weights after plain gradient descent over the shortest lag; the mean of the last tenth."""
    layer = _built(CONTESTANTS["Elman RNN, large weights"], seed)
    output = nn.Linear(layer.hidden_size, NUM_SYMBOLS)
    parameters = [*layer.parameters(), *output.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    random = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(updates):
        inputs, first = _sequences(random, LAGS[0])
        loss = cross_entropy(output(layer(inputs)[0][-1]), first)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if clips:
            clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return mean(losses[-max(1, updates // 10) :])


def _built(contestant: Contestant, seed: int) -> nn.RNNBase:
    torch.manual_seed(seed)
    return contestant.build(D_INPUT, D_STATE)


def _sequences(random: torch.Generator, lag: int, count: int = BATCH) -> tuple[Tensor, Tensor]:
    """A symbol with a flag and so many steps of noise, one-hot with time first; and the symbols."""
    symbols = torch.randint(NUM_SYMBOLS, (lag + 1, count), generator=random)
    inputs = one_hot(symbols, D_INPUT).float()
    inputs[0, :, NUM_SYMBOLS] = 1.0
    return inputs, symbols[0]


def _mean(figures: Mapping[str, Any], name: str, what: str, lag: int) -> float:
    return mean(_values(figures, name, what, lag))


def _values(figures: Mapping[str, Any], name: str, what: str, lag: int) -> list[float]:
    return [run[what][lag] for run in figures[name]["runs"]]


def _loss(figures: Mapping[str, Any], name: str) -> float:
    return float(mean(run["loss"] for run in figures[name]["runs"]))


def _holds(figures: Mapping[str, Any]) -> bool:
    kept = {name: _mean(figures, name, "gradient", 40) / _mean(figures, name, "gradient", 1) for name in CONTESTANTS}
    recalled = {name: _mean(figures, name, "accuracy", LAGS[-1]) for name in CONTESTANTS}
    flows = kept["Elman RNN"] <= 0.001 and kept["Elman RNN, large weights"] >= 1000 and kept["LSTM, open"] > 0.1
    learned = recalled["LSTM, open"] >= 0.9 and recalled["Elman RNN"] <= 0.5
    return flows and learned and _loss(figures, STEEP[0]) < 0.1 and _loss(figures, STEEP[1]) > 1


def table(finding: Finding) -> str:
    """The figures in Markdown."""
    found = finding.figures
    heads = [f"gradient at lag {lag}" for lag in MEASURED] + [f"accuracy after {lag}" for lag in LAGS]
    heads += ["parameters", "CPU seconds"]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for name in CONTESTANTS:
        cells = [f"{_mean(found, name, 'gradient', lag):.1e}" for lag in MEASURED]
        cells += [spread(_values(found, name, "accuracy", lag)) for lag in LAGS]
        cells += [f"{found[name]['parameters']:,}", f"{mean(run['cpu_seconds'] for run in found[name]['runs']):.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| plain gradient descent | last loss |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {_loss(found, name):.2f} |" for name in STEEP)])


def plot(finding: Finding, path: Path) -> None:
    """Gradient and accuracy against lag."""
    from matplotlib.figure import Figure  # not pyplot: no window, and no state of the process

    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, style in zip(CONTESTANTS, ("s-", "x-", "^--", "v--", "o-"), strict=True):
        left.plot(MEASURED, [_mean(finding.figures, name, "gradient", lag) for lag in MEASURED], style, label=name)
        right.plot(LAGS, [_mean(finding.figures, name, "accuracy", lag) for lag in LAGS], style)
    left.set(yscale="log", xlabel="steps ago", ylabel="gradient before training")
    left.legend(frameon=False, fontsize=7)
    right.axhline(1 / NUM_SYMBOLS, color="0.4", linestyle=":")
    right.set(xlabel="steps of noise", ylabel="accuracy of recall", ylim=(0, 1.03))
    figure.savefig(path, dpi=150)
