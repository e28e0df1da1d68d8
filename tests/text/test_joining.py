"""Words put together again, with the characters of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.text.joining import has_spaces, join
from saccade.text.normalize import normalize


def test_with_blanks():
    assert join(["mr", "president", ","]).text == "mr president ,"
    assert join(["mr", "president", ","]).spans == ((0, 2), (3, 12), (13, 14))


def test_without_blanks_but_between_latin_words():
    joined = join(["纽约", "new", "york", "5月", "22日", "(", "记者"], spaced=False)
    assert joined.text == "纽约new york 5月22日(记者"
    assert [joined.text[start:end] for start, end in joined.spans] == [
        *("纽约", "new", "york", "5月", "22日", "(", "记者"),
    ]


@given(st.lists(st.text(max_size=5), max_size=6), st.booleans())
def test_every_word_is_where_its_span_says(words: list[str], spaced: bool):
    joined = join(words, spaced=spaced)
    assert [joined.text[start:end] for start, end in joined.spans] == [normalize(word) for word in words]
    assert normalize(joined.text) == joined.text


def test_an_accent_of_its_own_does_not_melt_into_the_word_before():
    assert join(["a", "\u0301"], spaced=False).text == "a \u0301"


@pytest.mark.parametrize(("language", "expected"), [("de", True), ("zh-CN", False), ("zho_Hans", False), ("ja", False)])
def test_languages_with_blanks(language: str, expected: bool):
    assert has_spaces(language) is expected
