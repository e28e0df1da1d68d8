"""A streamed text is the text, whatever the tokens, and no piece of it is ever taken back."""

from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st

from saccade.text.streaming import text_pieces
from saccade.text.tokenizer import Tokenizer, TokenizerSettings
from saccade.text.vocabulary import Vocabulary

LINES = ["A dog runs.", "Ein Hund rennt über die Straße.", "你好，世界！"] * 3
OURS = Tokenizer.learn(LINES, TokenizerSettings(vocabulary=340), seed=1)
IMPORTED = Tokenizer(OURS.model, Vocabulary([OURS.piece(id) for id in range(len(OURS))]))


@sometimes(max_examples=300)
@given(st.lists(st.integers(0, len(OURS) - 1), max_size=12))
def test_any_tokens_give_their_text(ids: list[int]):
    for tokenizer in (OURS, IMPORTED):
        assert "".join(text_pieces(tokenizer, ids)) == tokenizer.decode(ids)


@sometimes(max_examples=100)
@given(st.text(alphabet="Hund ein. 你好🐕ß€ж", max_size=20))
def test_real_texts_show_no_half_character(text: str):
    pieces = list(text_pieces(OURS, OURS.encode(text)))
    assert "".join(pieces) == OURS.normalize(text)
    assert not any("\ufffd" in piece for piece in pieces)


def test_every_token_is_shown_as_soon_as_it_is_there():
    given = OURS.encode("Ein Hund 🐕 rennt.")
    read: list[int] = []
    pieces = text_pieces(OURS, (read.append(id) or id for id in given))
    assert (next(pieces), len(read)) == ("Ein", 1)
    assert (next(pieces), len(read)) == (" Hund", 2)
    assert (next(pieces), len(read)) == (" ", 3)
    assert (next(pieces), len(read)) == ("🐕", 7), "four bytes at once"
    assert "".join(pieces) == " rennt."


def test_bytes_that_never_become_a_character_are_shown_in_the_end():
    first_byte = next(id for id in range(len(OURS)) if OURS.piece(id) == "<0x00>")
    ids = [*OURS.encode("Ein"), first_byte + 0xE4, first_byte + 0xBD]
    assert list(text_pieces(OURS, ids)) == ["Ein", "\ufffd\ufffd"]


def test_no_tokens_have_no_text():
    assert list(text_pieces(OURS, [])) == []
