"""Words by one rule in any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.evaluation.words import pieces, words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A dog runs.", ["A", "dog", "runs"]),
        ("Don't pay 1,000.50 at 10:30!", ["Don't", "pay", "1,000.50", "at", "10:30"]),
        ("a well-known man's “end”…", ["a", "well-known", "man's", "end"]),
        ("一只黑狗，在iPhone 4上。", ["一", "只", "黑", "狗", "在", "iPhone", "4", "上"]),
        ("そう、カメラ!", list("そうカメラ")),
        ("मैं हिन्दी बोलता हूँ।", ["मैं", "हिन्दी", "बोलता", "हूँ"]),
        ("هل أنت هنا؟", ["هل", "أنت", "هنا"]),
        ("¿Qué? «Nada»", ["Qué", "Nada"]),
        ("end.Begin, 3. 4", ["end", "Begin", "3", "4"]),
        (" \t ... ", []),
        ("", []),
    ],
)
def test_words(text, wanted):
    assert words(text) == wanted


@given(st.text())
def test_pieces_are_the_whole_text(text):
    found = pieces(text)
    assert "".join(found) == text
    assert all(found)
    assert [piece for piece in found if words(piece) == [piece]] == words(text)


def test_pieces_are_words_marks_and_spaces():
    assert pieces("Oh,  my dog!") == ["Oh", ",", "  ", "my", " ", "dog", "!"]
