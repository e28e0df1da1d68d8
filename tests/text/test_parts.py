"""Cut as seldom as can be, nothing left out, and put together as the target language writes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text.normalize import normalize
from saccade.text.parts import Divider, Division, is_readable, rejoin
from saccade.text.sentences import Part
from saccade.text.tokenizer import Tokenizer, TokenizerSettings
from saccade.text.vocabulary import Vocabulary

LONGEST = 12
TEXT = ["A dog runs, and a cat sits. Then it rains! 你好。再见！", "the cat and the dog, the rain; the sun"]
KINDS = {
    "bpe": TokenizerSettings(vocabulary=340),
    "unigram": TokenizerSettings(kind="unigram", vocabulary=310),
    "characters": TokenizerSettings(kind="char", vocabulary=300),
}
LIVELY = st.text(st.sampled_from(list("aBcd1  .,!?。，\n\t\x00\u200d😀🏽é한漢x")) | st.characters(), max_size=120)


@pytest.fixture(scope="module", params=KINDS)
def divider(request: pytest.FixtureRequest) -> Divider:
    return Divider(Tokenizer.learn(TEXT, KINDS[request.param], seed=1), "en", LONGEST)


def texts(division: Division) -> list[str]:
    return [reading.part.text for reading in division.readings]


def whole(division: Division) -> str:
    return "".join(reading.part.text + reading.part.space for reading in division.readings)


@pytest.mark.parametrize("split", ["auto", "sentences"])
@settings(max_examples=60)
@given(text=LIVELY)
def test_every_part_fits_and_nothing_is_left_out(divider: Divider, split: str, text: str):
    (division,) = divider.divide([text], split)
    assert normalize(whole(division)) == normalize(text)
    assert division.num_tokens == len(divider.tokenizer.encode(text))
    for reading in division.readings:
        assert reading.ids == (divider.tokenizer.encode(reading.part.text) if is_readable(reading.part.text) else [])
        # A single character of several bytes, with its marks, cannot be cut.
        assert len(reading.ids) <= LONGEST or len(normalize(reading.part.text)) <= 4


@settings(max_examples=30)
@given(text=LIVELY)
def test_what_fits_is_read_as_it_is(divider: Divider, text: str):
    (division,) = divider.divide([text], "never")
    assert (texts(division), division.readings[0].ids) == ([text], divider.tokenizer.encode(text))
    if division.num_tokens <= LONGEST and is_readable(text):
        assert divider.divide([text], "auto") == [division]


@pytest.fixture(scope="module")
def by_words() -> Tokenizer:
    """One token a word, and a mark is a word."""
    return Tokenizer.learn(["One Two Three , . !"] * 9, TokenizerSettings(vocabulary=300), seed=1)


@pytest.mark.parametrize(
    ("longest", "expected", "place"),
    [
        (13, ["One Two . Three ! One Two , Three One Two . One"], ""),
        (12, ["One Two . Three ! One Two , Three One Two .", "One"], "between sentences"),
        (8, ["One Two . Three !", "One Two , Three One Two . One"], "between sentences"),
        (5, ["One Two . Three !", "One Two ,", "Three One Two .", "One"], "between clauses"),
        (3, ["One Two .", "Three !", "One Two ,", "Three One Two", ".", "One"], "between words"),
    ],
)
def test_as_few_parts_as_fit(by_words: Tokenizer, longest: int, expected: list[str], place: str):
    (division,) = Divider(by_words, "en", longest).divide(["One Two . Three ! One Two , Three One Two . One"], "auto")
    assert (texts(division), division.num_tokens, division.place) == (expected, 13, place)


def test_a_word_is_cut_only_if_it_must_be(by_words: Tokenizer):
    divider = Divider(by_words, "en", LONGEST)
    (division,) = divider.divide(["One " + "x" * 25 + " Two"], "auto")
    assert texts(division) == ["One", "x" * 10, "x" * 11, "xxxx", "Two"]
    assert division.place == "within words"
    (division,) = divider.divide(["e\u0302\u0323" * 9 + "👩🏽\u200d🔬" * 9], "auto")
    assert not any(text[0] in "\u0302\u0323\u200d🏽🔬" for text in texts(division)), "marks stay with their letter"


def test_sentences_stand_alone_if_asked_for(by_words: Tokenizer):
    text = "One Two .  Three !\n😀 ? One"
    (division,) = Divider(by_words, "en", LONGEST).divide([text], "sentences")
    assert whole(division) == text
    assert texts(division) == ["One Two .", "Three !", "😀 ?", "One"]
    assert [bool(reading.ids) for reading in division.readings] == [True, True, False, True]
    assert division.place == "", "it was not too long"


@pytest.mark.parametrize("text", ["", " ", "😀", "!?", "— …", "\x00", "\ud83d", "→ ☎️"])
def test_what_has_neither_letter_nor_digit_is_not_read(by_words: Tokenizer, text: str):
    (division,) = Divider(by_words, "en", LONGEST).divide([text], "auto")
    (reading,) = division.readings
    assert (reading.ids, reading.left) == ([], normalize(text))


@pytest.mark.parametrize("text", ["7", "½", "a", "你", "٣", "x!", "Ⅳ"])
def test_letters_and_digits_of_any_script_are_read(text: str):
    assert is_readable(text)


def test_the_code_of_a_language_stands_before_every_part(by_words: Tokenizer):
    pieces = [by_words.piece(id) for id in range(len(by_words))]
    listed = Tokenizer(by_words.model, Vocabulary([*pieces, ">>deu<<"]))
    (division,) = Divider(listed, "en", 4).divide([">>deu<< One Two . Three ! One"], "auto")
    assert texts(division) == ["One Two .", "Three ! One"]
    assert [[listed.piece(id) for id in reading.ids] for reading in division.readings] == [
        [">>deu<<", "▁One", "▁Two", "▁."],
        [">>deu<<", "▁Three", "▁!", "▁One"],
    ]


@pytest.mark.parametrize(
    ("languages", "parts", "translations", "expected"),
    [
        ("en-de", [("One.", "  "), ("Two.", "")], ["Eins.", "Zwei."], "Eins.  Zwei."),
        ("en-de", [("One.", "\n\n"), ("Two.", "")], ["Eins.", "Zwei."], "Eins.\n\nZwei."),
        ("zh-en", [("一。", ""), ("二。", "")], ["One.", "Two."], "One. Two."),
        ("ja-en", [("一。", "\u3000"), ("二。", "")], ["One.", "Two."], "One. Two."),
        ("th-en", [("ก", ""), ("ข", "")], ["One", "two"], "One two"),
        ("xx-en", [("一。", ""), ("二。", "")], ["One.", "Two."], "One. Two."),
        ("en-zh", [("One.", " "), ("Two.", "")], ["一。", "二。"], "一。二。"),
        ("en-zh-CN", [("One", " "), ("Two", "")], ["IBM", "3"], "IBM 3"),
        ("en-zh", [("One.", "\n"), ("Two.", "")], ["一。", "二。"], "一。\n二。"),
        ("en-th", [("One.", " "), ("Two.", "")], ["ก", "ข"], "ก ข"),
        ("en-de", [("http://aaa", ""), ("bbb", "")], ["http://aaa", "bbb"], "http://aaabbb"),
        ("en-de", [("One.", " "), ("", " "), ("Two.", "")], ["Eins.", "", "Zwei."], "Eins. Zwei."),
    ],
)
def test_rejoining(languages: str, parts: list[tuple[str, str]], translations: list[str], expected: str):
    source, _, target = languages.partition("-")
    assert rejoin([Part(*part) for part in parts], translations, source, target) == expected
