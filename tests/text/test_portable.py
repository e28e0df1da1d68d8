"""SentencePiece with our normaliser inside gives the tokens that we get by normalising first."""

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from saccade.text.portable import portable
from saccade.text.tokenizer import Tokenizer, TokenizerSettings

UNITS = [
    *"aeo.,-!0 äệ각가中；！😀_▁",
    *("\t", "\n", "\x07", "\x85", "\u00a0", "\u2009", "\u3000", "\u2028"),  # all spaces in the end
    *("\u00ad", "\u200b", "\u2060", "\ufeff"),  # all nothing
    *("\u200c", "\u200d", "\u200e"),  # to be kept
    *("e\u0301", "e\u0302\u0301", "e\u0323\u0302", "e\u0302\u0323", "\u1eb9\u0302", "\u00ea\u0323"),
    *("\u1112\u1161\u11ab", "\u1112\u1161", "\ud558\u11ab"),  # Hangul apart
    *("\u212b", "\u2126", "\ufa1e", "\u0958"),  # characters that NFC replaces, or takes apart
]


@pytest.fixture(scope="module")
def pair() -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
    learned = Tokenizer.learn(["a dog é ệ 한 runs 中文"], TokenizerSettings(vocabulary=320), seed=1)
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(portable(learned.model))
    return learned, processor


@given(units=st.lists(st.sampled_from(UNITS)))
@example(units=[" ", " ", "a", "\u200b", " "])
def test_tokens_are_the_same(pair: tuple[Tokenizer, sentencepiece.SentencePieceProcessor], units: list[str]) -> None:
    tokenizer, processor = pair
    assert processor.encode("".join(units)) == tokenizer.encode("".join(units))


@given(text=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FF)))
def test_so_are_those_of_any_latin_text(
    pair: tuple[Tokenizer, sentencepiece.SentencePieceProcessor], text: str
) -> None:
    tokenizer, processor = pair
    assert processor.encode(text) == tokenizer.encode(text)


def test_without_it_they_would_differ(pair: tuple[Tokenizer, sentencepiece.SentencePieceProcessor]) -> None:
    tokenizer, _ = pair
    bare = sentencepiece.SentencePieceProcessor()
    bare.LoadFromSerializedProto(tokenizer.model)
    assert bare.encode("e\u0301\u00a0a") != tokenizer.encode("e\u0301\u00a0a")
