import numpy as np
import pytest

from saccade.errors import SaccadeError
from saccade.trace.trace import AttentionTrace, Layer, Tokens


def layer(heads=2, target=3, source=4, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(source), (heads, target)).astype(np.float32)


def trace(**weights):
    named = weights or {"decoder.0.cross_attention": layer(), "decoder.1.cross_attention": layer(seed=1)}
    layers = tuple(Layer(name, "cross", weights) for name, weights in named.items())
    return AttentionTrace(source=Tokens(("a", "b", "c", "</s>")), target=Tokens(("x", "y", "</s>")), layers=layers)


def test_layers_are_in_the_order_of_their_numbers():
    names = [f"decoder.{number}.cross_attention" for number in (10, 2, 0, 1)]
    found = trace(**{name: layer() for name in names}).layers
    assert tuple(each.name for each in found) == tuple(names[at] for at in (2, 3, 1, 0))


def test_a_matrix_is_one_head_of_one_layer():
    shown = trace()
    assert np.allclose(shown.matrix(1, 1), shown.layers[1].weights[1])


def test_a_matrix_is_the_mean_over_what_is_not_named():
    shown = trace()
    first, second = (each.weights for each in shown.layers)
    assert np.allclose(shown.matrix(), (first + second).mean(axis=0) / 2)
    assert np.allclose(shown.matrix(head=1), (first[1] + second[1]) / 2)
    assert np.allclose(shown.matrix(0), first.mean(axis=0))
    assert np.allclose(shown.matrix().sum(axis=1), 1)


def test_layers_with_more_heads_weigh_no_more_than_others():
    shown = trace(a=layer(1), b=layer(8, seed=1))
    assert np.allclose(shown.matrix(), (shown.layers[0].weights[0] + shown.layers[1].weights.mean(axis=0)) / 2)


def test_the_caption_counts_from_one():
    shown = trace()
    assert shown.caption() == "mean of 2 layers, mean of 2 heads"
    assert shown.caption(1, 0) == "layer 2 of 2, head 1 of 2"
    assert trace(only=layer(1)).caption() == "layer 1 of 1, head 1 of 1"


def test_only_what_reads_and_what_writes_is_drawn_apart():
    assert trace().apart() == (None,)
    assert trace().apart(1) == (1,)
    layers = tuple(Layer(name, "memory", np.full((1, 3, 2), 0.5)) for name in ("reading", "writing"))
    machine = AttentionTrace(source=Tokens(()), target=Tokens(("a", "b", "c")), layers=layers)
    assert machine.apart() == (0, 1)
    assert machine.apart(0) == (0,)
    assert [machine.caption(at) for at in (0, 1)] == ["reading, head 1 of 1", "writing, head 1 of 1"]


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ValueError) as problem:  # noqa: PT011, the text is compared whole
        trace(**{"decoder.0.cross_attention": layer(target=2)})
    assert str(problem.value) == (
        "The weights of decoder.0.cross_attention must be heads × who looks × what is looked at, "
        "here some × 3 × 4, but their shape is (2, 2, 4)."
    )
    for wrong in (layer()[0], layer()[:0], layer().swapaxes(1, 2)):
        with pytest.raises(ValueError, match="must be heads × who looks × what is looked at"):
            trace(first=wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1])
def test_weights_that_are_no_weights_are_refused(value):
    broken = layer()
    broken[1, 2, 3] = value
    with pytest.raises(ValueError, match="The weights of first must be finite and not negative"):
        trace(first=broken)


def test_a_trace_without_weights_is_refused():
    with pytest.raises(ValueError, match="at least one layer"):
        AttentionTrace(source=Tokens(("a",)), target=Tokens(("b",)), layers=())


def test_asking_for_what_is_not_there_says_what_is():
    with pytest.raises(SaccadeError, match="no encoder attention in this trace; it has cross"):
        trace().matrix(kind="encoder")
    for number in (-1, 2):
        with pytest.raises(SaccadeError, match=f"There are 2 layers, counted from 0, but layer {number} was asked for"):
            trace().matrix(number)
    for head in (-1, 2):
        with pytest.raises(SaccadeError, match=f"There are 2 heads, counted from 0, but head {head} was asked for"):
            trace().matrix(head=head)


def test_its_repr_is_short_whatever_it_holds():
    text = "a dog " * 100
    layers = tuple(Layer(f"decoder.{at}.cross_attention", "cross", np.full((8, 60, 70), 0.1)) for at in range(6))
    trace = AttentionTrace(source=Tokens(("a",) * 70, text), target=Tokens(("b",) * 60), layers=layers)
    assert len(repr(trace)) < 150
    assert "a dog" in repr(trace)
    assert "60 tokens" in repr(trace)
    assert "cross (6 layers of 8 heads)" in repr(trace)
    assert repr(layers[2]) == "<Layer decoder.2.cross_attention, cross: 8 × 60 × 70>"
