"""What is held out has no near-duplicate left among the rest, whatever the sentences are."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.near_duplicates import NEAR, NearIndex, hold_out, similarity, trigrams

WORDS = ["the", "red", "blue", "old", "dog", "cat", "pump", "is", "was", "on", "in", "wall", "open", "12", "47", "page"]
SENTENCES = st.lists(
    st.one_of(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), st.text(max_size=20)),
    min_size=1,
    max_size=40,
)


def is_near(a: str, b: str) -> bool:
    return similarity(trigrams(a), trigrams(b)) >= NEAR


@pytest.mark.parametrize(
    ("a", "b", "near"),
    [
        ("The pump in hall 2 is wet.", "the PUMP in hall 7 is  wet.", True),
        ("A man is reading a newspaper in the park.", "A man is reading a newspaper in a park.", True),
        ("Close the valve before you open the tank.", "Close the valve before opening the tank.", True),
        ("A man is reading a newspaper in the park.", "Two dogs run across the snow.", False),
        ("Open the door.", "Close the window.", False),
        ("一只黑色的狗在草地上跑。", "一只白色的狗在草地上跑。", True),
        ("一只黑色的狗在草地上跑。", "两个孩子在河边玩耍。", False),
        ("", "", True),
    ],
)
def test_near(a: str, b: str, near: bool):
    assert is_near(a, b) == is_near(b, a) == near


@given(SENTENCES, SENTENCES)
def test_the_index_finds_what_a_comparison_of_all_finds(known: list[str], others: list[str]):
    index = NearIndex(known)
    for text in others:
        assert index.near(text) == [number for number, each in enumerate(known) if is_near(text, each)]


@given(SENTENCES, st.integers(1, 10), st.integers(0, 20), st.integers(0, 3))
def test_nothing_near_is_left(texts: list[str], count: int, most_dropped: int, seed: int):
    found = hold_out(texts, count, most_dropped=most_dropped, seed=seed)
    assert len(found.rows) <= count
    assert len(found.dropped) <= most_dropped
    assert not set(found.rows) & set(found.dropped)
    learned = [text for row, text in enumerate(texts) if row not in {*found.rows, *found.dropped}]
    assert not [(texts[row], text) for row in found.rows for text in learned if is_near(texts[row], text)]
    assert found == hold_out(texts, count, most_dropped=most_dropped, seed=seed)


def test_sentences_unlike_all_others_are_held_out_and_nothing_is_lost():
    draw = random.Random(1)
    letters = ["".join(draw.choices("abcdefghij", k=20)) for _ in range(300)]
    templates = [f"The pump in hall {number} is wet." for number in range(100)]
    found = hold_out(letters + templates, 50, most_dropped=0, seed=1)
    assert len(found.rows) == 50
    assert max(found.rows) < 300
    assert found.dropped == ()
    assert found.rows != hold_out(letters + templates, 50, most_dropped=0, seed=2).rows


def test_where_all_are_alike_few_are_found():
    found = hold_out([f"The pump in hall {number} is wet." for number in range(100)], 20, most_dropped=10, seed=1)
    assert found.rows == ()
    assert found.dropped == ()
