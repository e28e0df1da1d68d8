"""Links read off weights: arg-max, threshold, two directions made one; weights between words."""

from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import SaccadeError
from saccade.trace.alignment import (
    HeadSelection,
    Method,
    balanced,
    between_words,
    flipped,
    head_selections,
    links,
    links_above,
    parse_heads,
    shares,
    symmetrise,
)
from saccade.trace.trace import AttentionTrace, Layer, Tokens

pairs = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)


def trace(*layers: np.ndarray) -> AttentionTrace:
    _, target, source = layers[0].shape
    return AttentionTrace(
        source=Tokens(tuple("abcdefgh"[:source])),
        target=Tokens(tuple("stuvwxyz"[:target])),
        layers=tuple(Layer(f"decoder.{at}.cross_attention", "cross", layer) for at, layer in enumerate(layers)),
    )


def test_a_link_is_the_source_with_the_most_weight():
    matrix = np.array([[0.1, 0.8, 0.1], [0.9, 0.05, 0.05], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])
    assert links(matrix) == [(1, 0), (0, 1), (2, 2), (1, 3)]


def test_among_equals_the_first_and_nothing_for_nothing():
    assert links(np.array([[0.5, 0.5], [0.0, 0.0]])) == [(0, 0)]


def test_a_threshold_gives_several_links_or_none():
    matrix = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.0, 0.2, 0.8]])
    assert links_above(matrix, 0.5) == [(0, 0), (1, 0), (2, 2)]


# -- two directions --


def test_symmetrisation_by_hand():
    """Both say 0-0 and 3-3. Forward adds 1-1, 2-2, 5-5; backward adds 1-0, 5-6, 6-5.

    grow-diag: 1-0 lies below 0-0 and source 1 has no link yet; 1-1 lies diagonally and target 1 has none; 2-2 lies
    next to 1-1 and 3-3. 5-5, 5-6 and 6-5 touch nothing. grow-diag-final-and: 5-5 first, forward; then 5 is taken.
    """
    forward = [(0, 0), (1, 1), (2, 2), (3, 3), (5, 5)]
    backward = [(0, 0), (1, 0), (3, 3), (5, 6), (6, 5)]
    grown = [(0, 0), (1, 0), (1, 1), (2, 2), (3, 3)]
    assert symmetrise(forward, backward, "intersection") == [(0, 0), (3, 3)]
    assert symmetrise(forward, backward, "grow-diag") == grown
    assert symmetrise(forward, backward, "grow-diag-final-and") == [*grown, (5, 5)]
    assert symmetrise(forward, backward, "union") == sorted({*forward, *backward})


def test_grow_diag_adds_no_link_between_words_that_both_have_one():
    assert symmetrise([(0, 0), (1, 1), (0, 1)], [(0, 0), (1, 1)], "grow-diag") == [(0, 0), (1, 1)]


def test_without_agreement_only_the_last_step_of_growing_finds_anything():
    assert symmetrise([(0, 0)], [(1, 1)], "grow-diag") == []
    assert symmetrise([(0, 0)], [(1, 1)], "grow-diag-final-and") == [(0, 0), (1, 1)]


@given(pairs, pairs)
def test_each_method_finds_all_that_a_stricter_one_finds(forward: set, backward: set):
    found = [set(symmetrise(forward, backward, method)) for method in get_args(Method)]
    assert all(strict <= loose for strict, loose in pairwise(found))


@given(pairs, pairs)
def test_what_both_or_either_say_does_not_depend_on_which_is_forward(forward: set, backward: set):
    """Growing does: it visits words in the order of the source."""
    for method in ("intersection", "union"):
        there = symmetrise(forward, backward, method)
        assert flipped(there) == symmetrise(flipped(backward), flipped(forward), method)


@given(pairs)
def test_two_directions_that_agree_are_left_alone(both: set):
    assert all(symmetrise(both, both, method) == sorted(both) for method in get_args(Method))
    assert flipped(flipped(both)) == sorted(both)


# -- layers, heads and rows --


def test_a_reading_averages_its_heads():
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 3, 4)), rng.random((2, 3, 4))
    found = HeadSelection(((0, 1), (1, 0))).weights(trace(first, second))
    assert found == pytest.approx((first[1] + second[0]) / 2)
    assert HeadSelection().weights(trace(first, second)) == pytest.approx((first.mean(0) + second.mean(0)) / 2)


def test_the_row_that_reads_a_token_comes_after_the_one_that_predicts_it():
    weights = np.array([[[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]])
    assert HeadSelection(rows="predicts").weights(trace(weights)).tolist() == weights[0].tolist()
    assert HeadSelection(rows="reads").weights(trace(weights)).tolist() == [[0.4, 0.6], [0.1, 0.9], [0.0, 0.0]]


def test_all_that_is_worth_trying():
    one, two = np.full((1, 2, 2), 0.5), np.full((2, 2, 2), 0.5)
    assert [name for name, selection in head_selections(trace(one)) if selection == HeadSelection(selection.heads)] == [
        "layer 1"
    ]
    found = [
        name for name, selection in head_selections(trace(two, two)) if selection == HeadSelection(selection.heads)
    ]
    assert found[:3] == ["all layers", "layer 1", "layer 2"]
    assert found[3:] == ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]
    assert len({selection for _, selection in head_selections(trace(two, two))}) == 4 * len(found), "rows, and balance"


def test_heads_are_written_as_they_are_read():
    assert parse_heads("all") is None
    for heads in ("1:1", "2:1,2:3"):
        assert (
            str(HeadSelection(parse_heads(heads), "reads", balanced=True)) == f"--heads {heads} --rows reads --balance"
        )
    assert str(HeadSelection()) == "--heads all --rows predicts"


@pytest.mark.parametrize("text", ["", "1", "0:1", "1:0", "1:2:3", "a:b", "1:1,"])
def test_other_heads_are_refused(text: str):
    with pytest.raises(SaccadeError, match="must be all, or pairs layer:head counted from 1"):
        parse_heads(text)


# -- words --


def test_shares_by_hand():
    """The words of `ab cd` against the pieces `▁a`, `b`, `▁`, `cd`, `</s>`: the lone mark of a space goes with cd."""
    spans = [(0, 1), (1, 2), (2, 3), (3, 5), (5, 5)]
    assert shares(spans, [(0, 2), (3, 5)]).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]]


def test_a_piece_across_two_words_is_shared_by_characters():
    """Chinese without blanks: words 欧盟 and 的, pieces 欧 and 盟的; then one piece of three characters."""
    assert shares([(0, 1), (1, 3)], [(0, 2), (2, 3)]).tolist() == [[1, 0], [0.5, 0.5]]
    assert shares([(0, 3)], [(0, 2), (2, 3)]) == pytest.approx(np.array([[2 / 3, 1 / 3]]))


def test_the_bytes_of_a_character_belong_to_its_word():
    """Of a character in bytes, the last carries the span."""
    assert shares([(0, 1), (1, 1), (1, 1), (1, 2)], [(0, 1), (1, 2)]).tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]


def test_between_words_by_hand():
    """Source words {0, 1} and {2}, target words {0} and {1, 2}: sums over the source, means over the target."""
    matrix = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])
    source = np.array([[1.0, 0], [1, 0], [0, 1]])
    target = np.array([[1.0, 0], [0, 1], [0, 1]])
    assert between_words(matrix, source, target) == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))


def test_one_token_a_word_changes_nothing():
    matrix = np.random.default_rng(1).dirichlet(np.ones(4), size=3)
    assert between_words(matrix, np.eye(4), np.eye(3)) == pytest.approx(matrix)


def test_weights_between_words_still_sum_to_one():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(6), size=5)
    source, target = rng.dirichlet(np.ones(3), size=6), rng.dirichlet(np.ones(2), size=5)
    assert between_words(matrix, source, target).sum(axis=1) == pytest.approx(np.ones(2))


def test_a_word_without_tokens_has_no_weights():
    found = between_words(np.ones((1, 1)), np.ones((1, 1)), np.array([[0.0, 1.0]]))
    assert found.tolist() == [[0.0], [1.0]]
    assert links(found) == [(0, 1)]


def test_balance_by_hand():
    """The last source word attracts both target words, the first has something from one of them only."""
    matrix = np.array([[0.4, 0.0, 0.6], [0.1, 0.0, 0.9]])
    assert balanced(matrix) == pytest.approx(np.array([[0.8, 0, 0.4], [0.2, 0, 0.6]]))
    assert (links(matrix), links(balanced(matrix))) == ([(2, 0), (2, 1)], [(0, 0), (2, 1)])
