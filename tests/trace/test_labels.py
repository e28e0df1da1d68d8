from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from saccade.trace.labels import characters, label


def test_the_beginning_of_a_word_is_marked():
    assert label("▁Hund", 10) == "·Hund"
    assert label("▁", 10) == "·"


def test_long_tokens_are_cut_to_the_columns_there_are():
    assert label("Donaudampfschiff", 8) == "Donauda…"
    assert label("Donaudampfschiff", 8, "⋮") == "Donauda⋮"
    assert label("北京大学", 6) == "北京…"


def test_control_characters_do_not_reach_the_terminal():
    assert label("a\x1b[31m\x00\n", 20) == "a\ufffd[31m\ufffd\ufffd"
    assert label("\ufffe\ud800", 20) == "\ufffd\ufffd"


def test_marks_stay_with_the_character_they_are_written_over():
    assert characters("e\u0301a\u0308\u0323b") == ["e\u0301", "a\u0308\u0323", "b"]


@given(st.text(), st.integers(2, 30))
def test_a_label_never_has_more_columns_than_allowed(token, cells):
    assert cell_len(label(token, cells)) <= cells


@given(st.text())
def test_characters_put_together_are_the_text(text):
    assert "".join(characters(text)) == text
