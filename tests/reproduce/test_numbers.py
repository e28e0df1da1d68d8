"""Numbers in words: known ones, and what holds for all of them."""

import pytest

from saccade.reproduce.numbers import LAST, NUM_TOKENS, WORDS, named, split
from saccade.text.tokenizer import EOS


@pytest.mark.parametrize(
    ("number", "english", "german", "sure"),
    [
        (1, "one", "eins", {(0, 0)}),
        (12, "twelve", "zwölf", {(0, 0)}),
        (16, "sixteen", "sech zehn", {(0, 0), (0, 1)}),
        (21, "twenty one", "ein und zwanzig", {(0, 2), (1, 0)}),
        (30, "thirty", "dreißig", {(0, 0)}),
        (101, "one hundred one", "ein hundert eins", {(0, 0), (1, 1), (2, 2)}),
        (4010, "four thousand ten", "vier tausend zehn", {(0, 0), (1, 1), (2, 2)}),
        (
            7386,
            "seven thousand three hundred eighty six",
            "sieben tausend drei hundert sechs und achtzig",
            {(0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 4)},
        ),
        (1001, "one thousand one", "ein tausend eins", {(0, 0), (1, 1), (2, 2)}),
        (
            621_013,
            "six hundred twenty one thousand thirteen",
            "sechs hundert ein und zwanzig tausend drei zehn",
            {(0, 0), (1, 1), (2, 4), (3, 2), (4, 5), (5, 6), (5, 7)},
        ),
    ],
)
def test_known_numbers(number: int, english: str, german: str, sure: set[tuple[int, int]]):
    found = named(number)
    assert (" ".join(found.english), " ".join(found.german)) == (english, german)
    assert found.gold.sure == sure


def test_und_may_belong_to_either_of_its_neighbours():
    gold = named(121).gold
    assert gold.possible - gold.sure == {(2, 3), (3, 3)}


SOME = [*range(1, 2001), *range(2001, LAST + 1, 997), LAST]


def test_no_two_numbers_are_called_the_same():
    assert len({named(number).english for number in SOME}) == len(SOME)
    assert len({named(number).german for number in SOME}) == len(SOME)


def test_every_word_has_a_link_and_an_id():
    used = set()
    for number in SOME:
        found = named(number)
        assert {source for source, _ in found.gold.sure} == set(range(len(found.english)))
        assert {target for _, target in found.gold.possible} == set(range(len(found.german)))
        used |= {*found.source, *found.target}
    assert used == set(range(EOS + 1, NUM_TOKENS))
    assert len(set(WORDS)) == len(WORDS)


def test_the_splits_share_no_number():
    train, held_out = split()
    assert sorted(train + held_out) == list(range(1, LAST + 1))
    assert len(held_out) == 500
