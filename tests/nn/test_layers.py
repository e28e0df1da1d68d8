"""Feed-forward and residual connection, by hand."""

import pytest
import torch
from torch import nn

from saccade.nn.layers import FeedForward, Residual


def test_feed_forward_by_hand():
    """x = (1, 2): widened by (1, -1), (2, 0) and (0, 1) plus (0, 1, -3) that is (-1, 3, -1), then (0, 3, 0);
    narrowed by (1, 2, 5) and (4, -1, 1) plus (10, 20) that is (16, 17).
    """
    layer = FeedForward(2, 3, nn.ReLU())
    with torch.no_grad():
        layer.widen.weight.copy_(torch.tensor([[1.0, -1.0], [2.0, 0.0], [0.0, 1.0]]))
        layer.widen.bias.copy_(torch.tensor([0.0, 1.0, -3.0]))
        layer.narrow.weight.copy_(torch.tensor([[1.0, 2.0, 5.0], [4.0, -1.0, 1.0]]))
        layer.narrow.bias.copy_(torch.tensor([10.0, 20.0]))
    assert layer(torch.tensor([[[1.0, 2.0]]])).tolist() == [[[16.0, 17.0]]]


def test_feed_forward_looks_at_each_position_alone():
    torch.manual_seed(1)
    layer, states = FeedForward(4, 8, nn.GELU()).double(), torch.randn(2, 3, 4, dtype=torch.float64)
    for position in range(3):
        alone = layer(states[:, position : position + 1])
        torch.testing.assert_close(layer(states)[:, position : position + 1], alone)


def test_feed_forward_drops_after_the_activation_in_training_only():
    """With all activations 1 and the sum of 4000 of them taken, about 4000 comes out, and exactly so in eval."""
    layer = FeedForward(1, 4000, nn.ReLU(), dropout=0.5)
    nn.init.zeros_(layer.widen.weight)
    nn.init.ones_(layer.widen.bias)
    nn.init.ones_(layer.narrow.weight)
    kept = layer(torch.zeros(1, 1, 1)).item()
    assert kept == pytest.approx(4000, rel=0.1)
    assert kept % 2 == 0
    assert layer.eval()(torch.zeros(1, 1, 1)).item() == 4000


def normalised(*numbers: float) -> torch.Tensor:
    """With mean 0 and variance 1, as LayerNorm does before its gain and bias."""
    states = torch.tensor([[numbers]], dtype=torch.float64)
    return (states - states.mean()) / (states.var(correction=0) + 1e-5).sqrt()


def residual(norm_first: bool) -> Residual:
    """Gain 2 and bias 5, so that a norm in the wrong place shows."""
    module = Residual(2, 0.5, norm_first=norm_first).double().eval()
    nn.init.constant_(module.norm.weight, 2.0)
    nn.init.constant_(module.norm.bias, 5.0)
    return module


STATES = torch.tensor([[[1.0, 3.0]]], dtype=torch.float64)
UPDATE = torch.tensor([[[10.0, 4.0]]], dtype=torch.float64)


def test_post_norm_by_hand():
    """The sub-layer reads x itself; norm((1, 3) + (10, 4)) = 2 · (1, -1) + 5 = (7, 3)."""
    module = residual(norm_first=False)
    assert torch.equal(module.enter(STATES), STATES)
    found = module.leave(STATES, UPDATE)
    torch.testing.assert_close(found, 2 * normalised(11.0, 7.0) + 5)
    assert found.flatten().tolist() == pytest.approx([7, 3], abs=1e-5)


def test_pre_norm_by_hand():
    """The sub-layer reads norm((1, 3)) = 2 · (-1, 1) + 5 = (3, 7); x goes around untouched: (11, 7)."""
    module = residual(norm_first=True)
    found = module.enter(STATES)
    torch.testing.assert_close(found, 2 * normalised(1.0, 3.0) + 5)
    assert found.flatten().tolist() == pytest.approx([3, 7], abs=1e-4)
    assert module.leave(STATES, UPDATE).flatten().tolist() == [11, 7]


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_touches_the_update_and_never_the_way_around(norm_first: bool):
    module = residual(norm_first).train()
    module.norm = nn.Identity()  # type: ignore[assignment]
    around, update = torch.full((1, 100, 2), 1.0), torch.full((1, 100, 2), 4.0)
    assert set(module.leave(around, update).flatten().tolist()) == {1.0, 9.0}
