"""The claim about gradients over time: norms where they are known, and its rule."""

from pathlib import Path

import pytest
import torch
from torch import nn

from saccade.reproduce import gradients
from saccade.reproduce.gradients import LAYERS, STEEP, Recurrence


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "D_STATE", 8)
    monkeypatch.setattr(gradients, "NUM_TESTED", 16)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_gradient_of_a_linear_network_is_a_power(factor: float):
    """With h = max(0, 1 + x + factor · h) and nothing negative, a step back multiplies the gradient by the factor."""
    layer = nn.RNN(9, 9, nonlinearity="relu")
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.eye(9))
        layer.weight_hh_l0.copy_(factor * torch.eye(9))
        layer.bias_ih_l0.fill_(1.0)
        layer.bias_hh_l0.fill_(0.0)
    norms = gradients.gradient_norms(layer, 6, seed=1)
    assert norms == pytest.approx([norms[0] * factor**lag for lag in range(7)])


def test_open_gates_keep_and_large_weights_explode():
    kept = {}
    for name, recurrence in LAYERS.items():
        torch.manual_seed(1)
        norms = gradients.gradient_norms(recurrence.build(9, 64), 40, seed=1)
        kept[name] = norms[40] / norms[1]
    assert kept["Elman RNN"] < 1e-3
    assert kept["Elman RNN, large weights"] > 1e3
    assert 0.1 < kept["LSTM, open"] < 10


def test_a_sequence_begins_with_a_flagged_symbol_and_goes_on_with_noise_of_the_same():
    inputs, first = gradients._sequences(torch.Generator().manual_seed(1), 5)
    assert inputs.shape == (6, 32, 9)
    assert inputs[0, :, :8].argmax(dim=-1).tolist() == first.tolist()
    assert inputs[:, 0, 8].tolist() == [1, 0, 0, 0, 0, 0]
    assert inputs[..., :8].sum() == 6 * 32
    assert set(inputs[1:, :, :8].argmax(dim=-1).flatten().tolist()) == set(range(8))


def test_what_stood_just_before_is_learned():
    assert gradients.recall(Recurrence(nn.GRU), 1, 0, seed=1) < 0.5
    assert gradients.recall(Recurrence(nn.GRU), 1, 250, seed=1) > 0.9


def figures(**changed: float) -> dict:
    """As if this had been measured."""
    kept = {"Elman RNN": 1e-9, "Elman RNN, large weights": 1e4, "LSTM, open": 0.9}
    kept = {name: changed.get(name, kept.get(name, 0.01)) for name in LAYERS}
    recalled = {name: changed.get(f"{name} recalls", 0.95 if name == "LSTM, open" else 0.2) for name in LAYERS}
    found: dict = {
        name: {
            "runs": [
                {
                    "seed": 1,
                    "gradient": {1: 2.0, 5: 2.0, 10: 2.0, 20: 2.0, 40: 2.0 * kept[name], 60: 2.0},
                    "accuracy": {10: 1.0, 30: 1.0, 60: recalled[name]},
                }
            ]
        }
        for name in LAYERS
    }
    return found | {
        name: {"runs": [{"seed": 1, "loss": changed.get(name, usual)}]}
        for name, usual in zip(STEEP, (0.0, 9.0), strict=True)
    }


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, True),
        ({"Elman RNN": 0.002}, False),
        ({"Elman RNN, large weights": 900.0}, False),
        ({"LSTM, open": 0.09}, False),
        ({"LSTM, open recalls": 0.89}, False),
        ({"Elman RNN recalls": 0.51}, False),
        ({STEEP[0]: 0.1}, False),
        ({STEEP[1]: 1.0}, False),
        ({"GRU recalls": 1.0}, True),
    ],
)
def test_the_verdict_follows_the_rule(changed: dict, holds: bool):
    assert gradients._holds(figures(**changed)) is holds


def test_it_runs_and_is_told_and_drawn(tmp_path: Path):
    told = []
    finding = gradients.run(updates=2, seeds=(1, 2), advanced=lambda *each: told.append(each))
    assert told.count(("GRU", 2, 2)) == 2 * len(gradients.LAGS)
    assert not finding.holds
    assert len(finding.figures["LSTM"]["runs"]) == 2
    assert gradients.table(finding).count("\n| ") == len(LAYERS) + 1 + len(STEEP)
    gradients.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)
