"""Entropy and coverage are what their definitions say, in loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saccade.evaluation.attention import entropy, gaze, uncovered
from saccade.trace.trace import AttentionTrace, Layer, Tokens

weights = arrays(
    float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(0, 1, allow_subnormal=False)
)


@given(weights)
def test_entropy_in_loops(matrix):
    """(1/T) Σ_t −Σ_s p ln p, where p is the weight by the sum of its row."""
    total = 0.0
    for row in matrix:
        for weight in row:
            if weight > 0:
                total -= weight / sum(row) * math.log(weight / sum(row))
    assert entropy(matrix) == pytest.approx(total / len(matrix), abs=1e-12)


@given(weights)
def test_uncovered_in_loops(matrix):
    passed_over = 0
    for column in range(matrix.shape[1]):
        received = 0.0
        for row in range(matrix.shape[0]):
            received += matrix[row, column]
        passed_over += received < 0.2
    assert uncovered(matrix) == pytest.approx(passed_over / matrix.shape[1])


def test_the_ends_of_entropy():
    assert entropy(np.eye(4)) == 0
    assert entropy(np.full((3, 8), 1 / 8)) == pytest.approx(math.log(8))
    assert entropy(np.zeros((2, 3))) == 0


def trace(matrix: list[list[float]], tokens: tuple[str, ...], kind="cross") -> AttentionTrace:
    found = np.array([matrix])
    target = Tokens(tuple("abcdef"[: found.shape[1]]))
    return AttentionTrace(source=Tokens(tokens), target=target, layers=(Layer("cross_attention", kind, found),))


def test_the_end_mark_need_not_be_covered():
    found = gaze(trace([[0.9, 0.1, 0.0], [0.95, 0.05, 0.0]], ("▁dog", "s", "</s>")))
    assert found is not None
    assert found.uncovered == 0.5, "of two tokens, one gets 0.15"
    assert gaze(trace([[1.0]], ("</s>",))).uncovered == 0


def test_the_mean_of_layers_and_heads_is_looked_at():
    heads = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    layers = (Layer("decoder.0.cross_attention", "cross", heads),)
    found = gaze(AttentionTrace(source=Tokens(("a", "b")), target=Tokens(("x",)), layers=layers))
    assert found.entropy == pytest.approx(math.log(2))
    assert found.uncovered == 0


def test_an_image_has_no_source_tokens_to_cover():
    assert gaze(trace([[1.0, 0.0]], (), kind="image")) is None
