import io
from html import escape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.trace.metrics import families, fit, runs, script, text_width
from saccade.trace.png import png

SIZE = 40
EXACT = [
    "The animal didn't cross",
    "illicit",
    "WWWMMM",
    "0123456789",
    "Über-größe</s>",
    "Żółć gęślą",
    "e\u0301te\u0301",
]
EXACT += ["Привет, мир", "Ελληνικά", "北京大学", "日本のテスト", "שלום", "ספר חדש"]
SHAPED = ["مرحبا", "بالعالم", "كتاب", "नमस्ते", "किताब", "สวัสดี", "தமிழ்", "ქართული", "한국어"]


def ink(text):
    """The width of what is really drawn, from the first black pixel to the last."""
    style = f"font: {SIZE}px {families(next(runs(text))[0])}"
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="100"><style>text {{ {style} }}</style>'
        f'<rect width="1600" height="100" fill="#fff"/><text x="20" y="60">{escape(text)}</text></svg>'
    )
    pixels = np.asarray(Image.open(io.BytesIO(png(picture, 1))).convert("L"))
    columns = np.flatnonzero((pixels < 200).any(axis=0))
    return columns[-1] - columns[0]


def drawn_width(text):
    """A text written twice is wider by itself and a blank, whatever the bearings of its letters."""
    return ink(f"{text} {text}") - ink(text) - text_width(" ", SIZE)


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("text", EXACT)
def test_texts_are_as_wide_as_they_are_drawn(text):
    assert text_width(text, SIZE) == pytest.approx(drawn_width(text), rel=0.1, abs=2)


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("text", SHAPED)
def test_scripts_that_join_and_stack_letters_are_about_as_wide(text):
    assert text_width(text, SIZE) == pytest.approx(drawn_width(text), rel=0.2)


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("emoji", ["😀", "👍🏽", "🇩🇪", "👨‍👩‍👧‍👦", "❤️", "1️⃣"])
def test_an_emoji_is_one_picture_however_many_characters_it_is_made_of(emoji):
    assert text_width(emoji, SIZE) == text_width("😀", SIZE)
    assert text_width(emoji, SIZE) == pytest.approx(ink(2 * emoji) - ink(emoji), rel=0.1)


def test_marks_and_joiners_take_no_room():
    assert text_width("e\u0301\u200b\u2067", SIZE) == text_width("e", SIZE)
    assert text_width("", SIZE) == 0


@pytest.mark.parametrize(
    ("character", "found"),
    [
        ("a", ""),
        ("Ж", ""),
        ("7", None),
        ("·", None),
        ("北", "han"),
        ("。", "han"),
        ("の", "kana"),
        ("한", "hangul"),
        ("ש", "hebrew"),
        ("ت", "arabic"),
        ("न", "devanagari"),
        ("→", "symbol"),
        ("😀", "emoji"),
        ("❤️", "emoji"),
        ("\u0378", None),
    ],
)
def test_a_character_has_a_script(character, found):
    assert script(character) == found


def test_a_text_is_cut_where_another_font_is_needed():
    assert list(runs("·Hund, 7")) == [("", "·Hund, 7")]
    assert list(runs("「日本のテスト」7")) == [("kana", "「日本のテスト」7")]
    assert list(runs("Hi 😀! →")) == [("", "Hi "), ("emoji", "😀"), ("", "! "), ("symbol", "→")]
    assert list(runs("(😀)")) == [("", "("), ("emoji", "😀"), ("", ")")]
    assert list(runs("")) == [("", "")]


@given(st.text())
def test_runs_put_together_are_the_text(text):
    assert "".join(piece for _, piece in runs(text)) == text


def test_chinese_characters_are_japanese_where_kana_are_about():
    assert families("han").startswith('"PingFang SC"')
    assert families("han", {"han", "kana"}).startswith('"Hiragino Sans"')
    assert families("thai").startswith('"Noto Sans Thai", ui-sans-serif')


@given(st.text(), st.floats(20, 200))
def test_what_was_fitted_fits(text, room):
    found = fit(text, 14, room)
    assert text_width(found, 14) <= room
    assert found == text or found.endswith("…")
