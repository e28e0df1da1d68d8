"""Where sentences end. What is cut can be put together again, whatever it is."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text.sentences import Part, clauses, sentences, words

LANGUAGES = ["", "en", "de", "el", "zh-CN", "ar"]
LIVELY = st.text(st.sampled_from(list("aB1 \n\r\t.!?…。！，,;:\"'”)(—؟।\u2028\u3000é한漢")) | st.characters())
CUTTERS = [clauses, words, *(lambda text, each=each: sentences(text, each) for each in LANGUAGES)]


@pytest.mark.parametrize("cut", CUTTERS)
@settings(max_examples=50)
@given(LIVELY)
def test_nothing_is_lost(cut: Callable[[str], list[Part]], text: str):
    parts = cut(text)
    assert "".join(part.text + part.space for part in parts) == text
    assert all(part.text == part.text.strip() for part in parts)
    assert all(part.text for part in parts[1:]), "only the first may be nothing but white space"
    assert all(not part.space or part.space.isspace() for part in parts)


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("en", "A dog runs.| It barks!| Why?| Nobody knows."),
        ("en", "Dr. Smith met Mr. J. R. Doe at 3.14 p.m. in the U.S. Senate.| He left."),
        ("en", '"Stop!" he said.| "Go!"| (She went.)| [Then] nothing.'),
        ("en", "Well... maybe.| So…| Nothing."),
        ("en", "See fig. 5 and No. 7.| The answer is no.| Go on."),
        ("en", "1. First of all.| 2. Then the rest."),
        ("en", "He was 12.| Then he was 13."),
        ("en", "Visit www.example.org or a.b@c.de now.| Thanks."),
        ("de", "Am 3. Oktober kam z.B. Dr. Mai.| Dann ging er."),
        ("fr", "M. Dupont est là.| Il dit : « Bonjour ! »| Puis il part."),
        ("es", "El Sr. Gil vino.| ¿Por qué?| ¡Nadie sabe!"),
        ("ru", "Он жил на ул. Мира.| Потом уехал."),
        ("el", "Τι κάνεις;| Καλά."),
        ("ar", "كيف حالك؟| أنا بخير.| شكرا"),
        ("hi", "यह है।| वह था।"),
        ("zh", "你好。|他说：“再见！”|然后走了。|真的？！|是；|对"),
        ("zh", "我……不知道。|圆周率是3.14。"),
        ("ja", "「行く。」|彼は言った。|はい！"),
        ("en", "A heading|\n\n1. An item|\r\nAnother|\u2028and the last."),
    ],
)
def test_sentences(language: str, marked: str):
    """Cut where the bars are."""
    parts = [part.text for part in sentences(marked.replace("|", ""), language)]
    assert parts == [each.strip() for each in marked.split("|")]


def test_white_space_stays_with_the_sentence_before_it():
    assert sentences("  One.  Two.\t\n Three. ", "en") == [
        ("", "  "),
        ("One.", "  "),
        ("Two.", "\t\n "),
        ("Three.", " "),
    ]
    assert sentences("", "en") == []
    assert sentences(" \n", "en") == [("", " \n")]


def test_clauses_and_words():
    assert [part.text for part in clauses("First, then; so: 1,000 — and，还有、这个")] == [
        *("First,", "then;", "so:", "1,000 —", "and，", "还有、", "这个"),
    ]
    assert words("a  b\tc") == [("a", "  "), ("b", "\t"), ("c", "")]


@pytest.mark.parametrize("unit", ["a", " ", ".", ", ", ",", '."', '" ', "1. ", "a. ", "\n", "。", "( ", ". (", "Dr. "])
@pytest.mark.parametrize("cut", CUTTERS[:4:3])
def test_a_long_line_takes_no_longer_than_its_length(cut: Callable[[str], list[Part]], unit: str):
    """100,000 characters: what read them again for each of them would take minutes."""
    text = (unit * 100_000)[:100_000]
    started = time.process_time()
    assert sum(len(part.text) + len(part.space) for part in cut(text)) == len(text)
    assert time.process_time() - started < 4.0
