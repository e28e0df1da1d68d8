"""Edits: by hand, and what holds for any two sequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.evaluation.edits import edits, error_rate

words = st.text("abc", max_size=6)


@pytest.mark.parametrize(
    ("found", "wanted", "number"),
    [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("abcd", "bcd", 1), ("ab", "ba", 2), ("aaa", "b", 3)],
)
def test_by_hand(found: str, wanted: str, number: int):
    assert edits(found, wanted) == number


@given(words, words, words)
def test_it_is_a_distance(one: str, two: str, three: str):
    assert (edits(one, two) == 0) == (one == two)
    assert edits(one, two) == edits(two, one) <= edits(one, three) + edits(three, two)
    assert abs(len(one) - len(two)) <= edits(one, two) <= max(len(one), len(two))


def test_the_rate_is_of_all_sequences_together():
    """Three edits for four elements; the mean of the two rates would be (0 + 3) / 2."""
    assert error_rate([["a", "b", "c"], []], [["a", "b", "c"], ["d"]]) == pytest.approx(1 / 4)
    assert error_rate([["a", "b", "c"], ["x", "y", "z"]], [["a", "b", "c"], ["d"]]) == pytest.approx(3 / 4)


def test_as_many_must_be_found_as_wanted():
    with pytest.raises(ValueError, match="zip"):
        error_rate([["a"]], [["a"], ["b"]])
