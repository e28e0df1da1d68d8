"""Cut as seldom as can be, nothing left out, and put together as the target language writes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text.normalize import normalize
from saccade.text.segments import Segmentation, Segmenter, is_readable, rejoin
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
def segmenter(request: pytest.FixtureRequest) -> Segmenter:
    return Segmenter(Tokenizer.learn(TEXT, KINDS[request.param], seed=1), "en", LONGEST)


def texts(segmentation: Segmentation) -> list[str]:
    return [segment.part.text for segment in segmentation.segments]


def whole(segmentation: Segmentation) -> str:
    return "".join(segment.part.text + segment.part.space for segment in segmentation.segments)


@pytest.mark.parametrize("split", ["auto", "sentences"])
@settings(max_examples=60)
@given(text=LIVELY)
def test_every_part_fits_and_nothing_is_left_out(segmenter: Segmenter, split: str, text: str):
    (segmentation,) = segmenter.segment([text], split)
    assert normalize(whole(segmentation)) == normalize(text)
    assert segmentation.num_tokens == len(segmenter.tokenizer.encode(text))
    for segment in segmentation.segments:
        assert segment.ids == (segmenter.tokenizer.encode(segment.part.text) if is_readable(segment.part.text) else [])
        # A single character of several bytes, with its marks, cannot be cut.
        assert len(segment.ids) <= LONGEST or len(normalize(segment.part.text)) <= 4


@settings(max_examples=30)
@given(text=LIVELY)
def test_what_fits_is_read_as_it_is(segmenter: Segmenter, text: str):
    (segmentation,) = segmenter.segment([text], "never")
    assert (texts(segmentation), segmentation.segments[0].ids) == ([text], segmenter.tokenizer.encode(text))
    if segmentation.num_tokens <= LONGEST and is_readable(text):
        assert segmenter.segment([text], "auto") == [segmentation]


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
    (segmentation,) = Segmenter(by_words, "en", longest).segment(
        ["One Two . Three ! One Two , Three One Two . One"], "auto"
    )
    assert (texts(segmentation), segmentation.num_tokens, segmentation.place) == (expected, 13, place)


def test_a_word_is_cut_only_if_it_must_be(by_words: Tokenizer):
    segmenter = Segmenter(by_words, "en", LONGEST)
    (segmentation,) = segmenter.segment(["One " + "x" * 25 + " Two"], "auto")
    assert texts(segmentation) == ["One", "x" * 10, "x" * 11, "xxxx", "Two"]
    assert segmentation.place == "within words"
    (segmentation,) = segmenter.segment(["e\u0302\u0323" * 9 + "👩🏽\u200d🔬" * 9], "auto")
    assert not any(text[0] in "\u0302\u0323\u200d🏽🔬" for text in texts(segmentation)), "marks stay with their letter"


def test_sentences_stand_alone_if_asked_for(by_words: Tokenizer):
    text = "One Two .  Three !\n😀 ? One"
    (segmentation,) = Segmenter(by_words, "en", LONGEST).segment([text], "sentences")
    assert whole(segmentation) == text
    assert texts(segmentation) == ["One Two .", "Three !", "😀 ?", "One"]
    assert [bool(segment.ids) for segment in segmentation.segments] == [True, True, False, True]
    assert segmentation.place == "", "it was not too long"


@pytest.mark.parametrize("text", ["", " ", "😀", "!?", "— …", "\x00", "\ud83d", "→ ☎️"])
def test_what_has_neither_letter_nor_digit_is_not_read(by_words: Tokenizer, text: str):
    (segmentation,) = Segmenter(by_words, "en", LONGEST).segment([text], "auto")
    (segment,) = segmentation.segments
    assert (segment.ids, segment.untranslated) == ([], normalize(text))


@pytest.mark.parametrize("text", ["7", "½", "a", "你", "٣", "x!", "Ⅳ"])
def test_letters_and_digits_of_any_script_are_read(text: str):
    assert is_readable(text)


def test_the_code_of_a_language_stands_before_every_part(by_words: Tokenizer):
    pieces = [by_words.piece(id) for id in range(len(by_words))]
    listed = Tokenizer(by_words.model, Vocabulary([*pieces, ">>deu<<"]))
    (segmentation,) = Segmenter(listed, "en", 4).segment([">>deu<< One Two . Three ! One"], "auto")
    assert texts(segmentation) == ["One Two .", "Three ! One"]
    assert [[listed.piece(id) for id in segment.ids] for segment in segmentation.segments] == [
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
