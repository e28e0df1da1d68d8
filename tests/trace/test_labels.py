from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from saccade.trace.labels import characters, for_terminal, goes_left, label


def test_the_beginning_of_a_word_is_marked():
    assert label("▁Hund", 10) == "·Hund"
    assert label("▁", 10) == "·"


def test_long_tokens_are_cut_to_the_columns_there_are():
    assert label("Donaudampfschiff", 8) == "Donauda…"
    assert label("Donaudampfschiff", 8, "⋮") == "Donauda⋮"
    assert label("北京大学", 6) == "北京…"


def test_a_cut_leaves_characters_whole():
    assert label("abe\u0301\u0323cdef", 4) == "abe\u0301\u0323…"
    assert label("a👍🏽👍🏽👍🏽", 4) == "a👍🏽…"


def test_control_characters_do_not_reach_the_terminal():
    assert label("a\x1b[31m\x00\n", 20) == "a\ufffd[31m\ufffd\ufffd"
    assert label("\ufffe\ud800\u2028", 20) == "\ufffd\ufffd\ufffd"


def test_nothing_turns_the_text_around_it():
    assert label("\u202eabc\u2066", 20) == "\ufffdabc\ufffd"
    assert label(for_terminal("\u202eabc"), 20) == "\ufffdabc"


def test_what_cannot_be_seen_is_named():
    assert label("\u200b", 20) == "U+200B"
    assert label("\u3000", 20) == "U+3000"
    assert label("", 20) == ""


def test_marks_stay_with_the_character_they_are_written_over():
    assert characters("e\u0301a\u0308\u0323b") == ["e\u0301", "a\u0308\u0323", "b"]


def test_joined_emoji_are_one_character():
    assert characters("a👨‍👩‍👧‍👦👍🏽🇩🇪🇫🇷1️⃣❤️b") == ["a", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🇫🇷", "1️⃣", "❤️", "b"]


def test_terminals_get_what_they_agree_about():
    assert for_terminal("👨‍👩‍👧‍👦👍🏽🇩🇪1️⃣") == "👨👍DE1"
    assert for_terminal("e\u0301\u00ad北می\u200cخ") == "e\u0301北می\u200cخ"


def test_words_go_as_their_first_letter_goes():
    assert goes_left("(שלום abc")
    assert goes_left("7 مرحبا")
    assert not goes_left("abc שלום")
    assert not goes_left("7,")


@given(st.text(), st.integers(2, 30))
def test_a_label_never_has_more_columns_than_allowed(token, cells):
    assert cell_len(label(token, cells)) <= cells


@given(st.text())
def test_characters_put_together_are_the_text(text):
    assert "".join(characters(text)) == text
