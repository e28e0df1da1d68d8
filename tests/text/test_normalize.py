import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.text.normalize import normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a  b ", "a b"),
        ("a\tb\r", "a b"),
        ("a\u2028b\u2029c\x85d\x0be\x0cf", "a b c d e f"),
        ("a\u00a0b\u3000c\u2009d", "a b c d"),
        ("a\x00b\x7fc\x9fd", "a b c d"),
        ("\ufeffa\u200bb\u2060c\u00add", "abcd"),
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),
        ("你好，世界！", "你好，世界！"),
        ("ﬁ ½ ２", "ﬁ ½ ２"),
        ("a▁b", "a_b"),
        ("\ud83d", "\ufffd"),
        (" \u3000 ", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👩\u200d🔬", "שלום\u200f!"])
def test_joiners_and_direction_marks_stay(text: str) -> None:
    assert normalize(text) == text


@given(st.text())
def test_one_clean_line_and_nothing_left_to_do(text: str) -> None:
    result = normalize(text)
    assert normalize(result) == result
    assert unicodedata.is_normalized("NFC", result)
    assert len(result.splitlines()) <= 1
    assert "  " not in result
    assert result == result.strip()
    result.encode("utf-8")
