"""Which phrases are asked of a translation, and where they are found in a text."""

import pytest

from saccade.text.wording import Wording, matching, occurrences, terms

GLOSSARY = {
    "dog": "Hund",
    "hot dog": "Hotdog",
    "US": "USA",
    "ice": "Eis",
    "ice cream": "Speiseeis",
    "C++": "C++",
    "straße": "street",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("A dog.", ["dog"]),
        ("Dog and DOG", ["dog"]),
        ("dogs and a bulldog", []),
        ("dog-like dogmas", ["dog"]),
        ("He tells us of the US.", ["US"]),
        ("a hot dog", ["hot dog"]),
        ("a hot dog for my dog", ["hot dog", "dog"]),
        ("ice on ice cream", ["ice", "ice cream"]),
        ("C++ and C++.", ["C++"]),
        ("xC++", []),
        ("  a   hot\u00a0dog ", ["hot dog"]),
        ("İ dog", ["dog"]),
        ("STRAßE", ["straße"]),
        ("", []),
    ],
)
def test_terms_of_a_language_with_blanks_are_whole_words(source: str, expected: list[str]):
    assert matching(terms(GLOSSARY), source, spaced=True) == expected


def test_terms_of_a_language_without_blanks_are_found_anywhere():
    glossary = {"狗": "dog", "热狗": "hot dog", "草地": "grass"}
    assert matching(terms(glossary), "一只狗在草地上跑。", spaced=False) == ["狗", "草地"]
    assert matching(terms(glossary), "一只热狗", spaced=False) == ["热狗"]
    assert matching(terms(glossary), "一只狗", spaced=True) == [], "the comparison can fail"


def test_a_vowel_sign_belongs_to_its_word():
    assert list(occurrences("क", "की क", spaced=True)) == [(3, 4)]


def test_every_place_is_found():
    assert list(occurrences("aa", "aaa", spaced=False)) == [(0, 2), (1, 3)]
    assert list(occurrences("a b", "a b a b", spaced=True)) == [(0, 3), (4, 7)]


def test_what_is_asked_for_and_what_the_glossary_asks_for():
    wording = Wording(required=["Hund", "Fu\u0308chse"], glossary={"dog": "Hund", "cat": "Katze"})
    assert wording.demands("the cat and the dog", spaced=True) == ("Hund", "Füchse", "Katze")
    assert wording.demands("nobody", spaced=True) == ("Hund", "Füchse")


def test_nothing_asked_for_is_false():
    assert not Wording()
    for given in ({"prefix": "A"}, {"banned": ["a"]}, {"required": ["a"]}, {"glossary": {"a": "b"}}):
        assert Wording(**given)
