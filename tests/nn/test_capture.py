"""Listening to attention."""

import threading

import pytest
import torch
from torch import nn

from saccade.nn.capture import active_capture, capture
from saccade.nn.multihead import MultiHeadAttention


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = MultiHeadAttention(4, 2)
        self.stack = nn.ModuleList([MultiHeadAttention(4, 1)])

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        for layer in (self.first, *self.stack):
            states = layer(*layer.queries_and_memory(states))
        return states


@pytest.fixture
def states() -> torch.Tensor:
    return torch.randn(3, 5, 4)


def test_weights_are_named_by_the_path_of_their_layer(states: torch.Tensor):
    model = TwoLayers()
    with capture(model) as heard:
        model(states)
        model(states[:2])
    assert list(heard.weights) == ["first", "stack.0"]
    assert [tuple(weights.shape) for weights in heard.weights["first"]] == [(3, 2, 5, 5), (2, 2, 5, 5)]
    assert [tuple(weights.shape) for weights in heard.weights["stack.0"]] == [(3, 1, 5, 5), (2, 1, 5, 5)]


def test_nothing_is_kept_on_modules(states: torch.Tensor):
    model = TwoLayers()
    before = {name: set(vars(module)) for name, module in model.named_modules()}
    with capture(model) as heard:
        model(states)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert not any(weights.requires_grad for calls in heard.weights.values() for weights in calls)


def test_nobody_listens_afterwards(states: torch.Tensor):
    model = TwoLayers()
    with capture(model) as heard:
        assert active_capture() is heard
    model(states)
    assert active_capture() is None
    assert not heard.weights
    with pytest.raises(RuntimeError), capture(model):
        raise RuntimeError
    assert active_capture() is None


def test_another_model_is_not_heard(states: torch.Tensor):
    model, other = TwoLayers(), TwoLayers()
    with capture(model) as heard:
        other(states)
    assert not heard.weights


def test_part_of_a_model_can_be_listened_to(states: torch.Tensor):
    model = TwoLayers()
    with capture(model.stack) as heard:
        model(states)
    assert list(heard.weights) == ["0"]


def test_who_listened_before_hears_what_is_captured_within(states: torch.Tensor):
    model, other = TwoLayers(), TwoLayers()
    with capture(model) as outer:
        with capture(other) as inner:
            model(states)
            other(states)
        model(states)
    assert [len(calls) for calls in outer.weights.values()] == [2, 2]
    assert [len(calls) for calls in inner.weights.values()] == [1, 1]


def test_another_thread_is_not_listened_to(states: torch.Tensor):
    model = TwoLayers()
    with capture(model) as heard:
        thread = threading.Thread(target=model, args=(states,))
        thread.start()
        thread.join()
    assert not heard.weights


def test_gradients_flow_while_someone_listens(states: torch.Tensor):
    model = TwoLayers().double()
    states = states.double()
    gradients = []
    for listening in (False, True):
        model.zero_grad()
        if listening:
            with capture(model):
                model(states).square().sum().backward()
        else:
            model(states).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    for quiet, heard in zip(*gradients, strict=True):
        torch.testing.assert_close(heard, quiet, rtol=0.0, atol=1e-12)
