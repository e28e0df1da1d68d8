"""The claim about gradients over depth: what stands around a sub-layer, and its rule."""

from pathlib import Path

import pytest
import torch
from torch import nn

from saccade.nn.layers import Residual
from saccade.reproduce import depth
from saccade.reproduce.depth import DEPTHS, KINDS, Around


def test_around_with_both_parts_is_the_models_own():
    states, update = torch.randn(2, 1, 3, 8)
    ours, models = Around(8, residual=True, norm=True), Residual(8, 0.0, norm_first=False)
    assert torch.equal(ours.leave(ours.enter(states), update), models.leave(models.enter(states), update))


def test_around_without_them_is_the_sub_layer_alone():
    states, update = torch.randn(2, 1, 3, 8)
    around = Around(8, residual=False, norm=False)
    assert torch.equal(around.enter(states), states)
    assert torch.equal(around.leave(states, update), update)


class Times(nn.Module):
    """A layer whose gradient is known."""

    def forward(self, states: torch.Tensor, mask: None) -> torch.Tensor:
        return 0.5 * states


def test_a_layer_that_halves_its_input_halves_the_gradient():
    norms = depth.gradient_norms(nn.ModuleList(Times() for _ in range(4)), 2)
    assert norms == pytest.approx([norms[-1] / 2 ** (3 - layer) for layer in range(4)])


def test_only_a_way_around_keeps_the_gradient():
    """Of 8 layers; the claim itself is about 32."""
    kept = {}
    for name in ("neither", "norm first, residual"):
        torch.manual_seed(1)
        norms = depth.gradient_norms(KINDS[name].build(8), 1)
        assert len(norms) == 8
        kept[name] = norms[0] / norms[-1]
    assert kept["neither"] < 0.1 < kept["norm first, residual"] < 10


@pytest.mark.parametrize(
    ("plain", "residual", "holds"),
    [(0.001, 0.04, True), (0.002, 1.0, False), (1e-9, 0.03, False), (1e-9, 31.0, False), (1e-9, 29.0, True)],
)
def test_the_verdict_follows_the_rule(plain: float, residual: float, holds: bool, monkeypatch: pytest.MonkeyPatch):
    ratios = {"neither": plain, "norm first, residual": residual}
    order = iter([name for name in KINDS for _ in DEPTHS])

    def measured(stack: nn.ModuleList, batches: int) -> list[float]:
        name = next(order)
        return [3 * ratios.get(name, 1.0), 3.0] if len(stack) == DEPTHS[-1] else [1.0, 1.0]

    monkeypatch.setattr(depth, "gradient_norms", measured)
    assert depth.run(updates=1).holds is holds


def test_it_runs_and_is_told_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(depth, "DEPTHS", (1, 2))
    finding = depth.run(updates=1, seeds=(1, 2))
    assert finding.figures["neither"]["runs"][0]["ratio"][1] == 1.0
    assert "| gradient at the first layer / last | 1 layers | 2 layers |" in depth.table(finding)
    depth.plot(finding, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    finding.save(tmp_path)
