from dataclasses import replace

import numpy as np
import pytest

from saccade.errors import SaccadeError
from saccade.trace.rollout import rollout
from saccade.trace.trace import AttentionTrace, Layer, Tokens

SOURCE, TARGET = Tokens(("a", "b", "c", "</s>")), Tokens(("x", "y", "</s>"))


def example(depth=3, heads=2):
    random = np.random.default_rng(1)
    m, n = len(TARGET), len(SOURCE)
    layers = []
    for number in range(depth):
        causal = np.tril(random.random((heads, m, m)))
        layers += [
            Layer(f"encoder.{number}.self_attention", "encoder", random.dirichlet(np.ones(n), (heads, n))),
            Layer(f"decoder.{number}.self_attention", "decoder", causal / causal.sum(-1, keepdims=True)),
            Layer(f"decoder.{number}.cross_attention", "cross", random.dirichlet(np.ones(n), (heads, m))),
        ]
    return AttentionTrace(source=SOURCE, target=TARGET, layers=tuple(layers))


def flow(layers, inputs):
    """Sum over all paths, written out: what position i of the last layer has of each input."""
    states = inputs
    for layer in layers:
        mean = sum(layer.weights) / layer.num_heads
        states = [
            [
                0.5 * own + 0.5 * sum(mean[i, j] * states[j][k] for j in range(len(states)))
                for k, own in enumerate(states[i])
            ]
            for i in range(len(states))
        ]
    return states


def unit(size):
    return [[float(i == j) for j in range(size)] for i in range(size)]


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("depth", [1, 3])
def test_self_attention_is_the_sum_over_all_paths(kind, depth):
    trace = example(depth)
    found = rollout(trace).matrix(kind=kind)
    assert np.allclose(found, flow(trace.of(kind), unit(len(found))))
    assert np.allclose(found.sum(axis=1), 1)


def test_the_source_is_seen_through_decoder_cross_and_encoder():
    trace = example()
    encoded = np.array(flow(trace.of("encoder"), unit(len(SOURCE))))
    states = np.zeros((len(TARGET), len(SOURCE)))
    for itself, across in zip(trace.of("decoder"), trace.of("cross"), strict=True):
        states = np.array(flow([itself], states.tolist()))
        states = 0.5 * states + 0.5 * across.weights.mean(axis=0) @ encoded
    found = rollout(trace).matrix(kind="cross")
    assert np.allclose(states.sum(axis=1), 1 - 0.5**3), "the rest comes from the target itself"
    assert np.allclose(found, states / states.sum(axis=1, keepdims=True))


def test_what_looks_at_nothing_but_itself_stays_itself():
    eye = np.stack([np.eye(4)] * 2)
    layers = tuple(Layer(f"encoder.{number}", "encoder", eye) for number in range(6))
    trace = AttentionTrace(source=SOURCE, target=TARGET, layers=layers, model="toy")
    found = rollout(trace)
    assert np.array_equal(found.matrix(), np.eye(4))
    assert (found.kinds, found.model) == (("encoder",), "toy")


def test_the_source_cannot_be_rolled_out_without_self_attention():
    trace = example()
    with pytest.raises(SaccadeError, match="There is no encoder attention in this trace; it has cross"):
        rollout(replace(trace, layers=trace.of("cross")))
