"""What is said of one translation: sacreBLEU's own sentence scores, and definitions by hand."""

import pytest
from sacrebleu import sentence_bleu, sentence_chrf

from saccade.evaluation.attention import Gaze
from saccade.evaluation.comparison import compare
from saccade.evaluation.sentences import describe, is_copied, oddities, repetition


def described(translations, references, sources=None, *, language="de", gazes=None):
    compared = compare({"one": translations}, references, language=language, samples=2)
    found = describe(translations, references, sources, compared.counts["one"], language=language, gazes=gazes)
    return found, oddities(found, compared.counts["one"])


def test_sentence_scores_are_those_of_sacrebleu(test_set):
    found, _ = described(test_set.systems["worse"], [test_set.references])
    for sentence, reference in zip(found, test_set.references, strict=True):
        assert sentence.bleu == pytest.approx(sentence_bleu(sentence.text, [reference]).score)
        assert sentence.chrf == pytest.approx(sentence_chrf(sentence.text, [reference]).score)
    assert len({sentence.bleu for sentence in found}) > 10


@pytest.mark.parametrize(
    ("text", "reference", "count"),
    [
        ("a dog and a dog", "a hound", 1),  # (a, dog) a second time
        ("A dog and a dog", "a hound", 1),  # case aside
        ("a dog and a dog", "a dog, a dog", 0),  # as often in the reference
        ("a dog, a dog, a dog", "a dog and a dog", 2),  # (a, dog) once more, and (dog, a) twice
        ("the the dog", "the dog", 1),  # a doubled word is one at once
        ("had had it", "had had it", 0),
        ("no no no", "no", 2),
        ("a dog", "", 0),
        ("", "a dog", 0),
    ],
)
def test_repetition_by_hand(text, reference, count):
    assert repetition(text, [reference]) == count


def test_repetition_allows_what_any_reference_says():
    assert repetition("a dog, a dog", ["a dog", "a dog a dog"]) == 0


def test_chinese_is_repeated_by_four_characters():
    found, counted = described(
        ["妈妈看看男人和男人。", "一个男人一个男人。"], [["母亲看着男人。", "一个男人。"]], language="zh"
    )
    assert [sentence.repetition for sentence in found] == [0, 1]
    assert counted.repeating == 1


def test_copied_empty_and_lengths():
    sources = ["A dog runs.", "Berlin", "Stop it now.", "Yes", "", "One two three four."]
    references = ["Ein Hund rennt.", "Berlin", "Hör jetzt auf.", "Ja", "", "Eins zwei drei vier."]
    translations = ["a  dog runs.", "Berlin", " ", "Ja ja ja ja ja", "", "Eins ."]
    found, counted = described(translations, [references], sources)
    assert [sentence.copied for sentence in found] == [True, False, False, False, False, False]
    assert [sentence.empty for sentence in found] == [False, False, True, False, False, False]
    assert [sentence.length_ratio for sentence in found] == [1, 1, 0, 5, None, 0.4]
    assert (counted.copied, counted.empty, counted.short, counted.long) == (1, 1, 2, 1)
    assert counted.length_ratio == pytest.approx((4 + 1 + 0 + 5 + 0 + 2) / (4 + 1 + 4 + 1 + 0 + 5))
    assert counted.gaze is None


def test_without_sources_nothing_is_called_copied():
    found, _ = described(["Hello"], [["Hallo"]])
    assert not found[0].copied
    assert not is_copied("", "", ["Hallo"])


def test_attention_is_averaged_over_those_that_have_some():
    gazes = [Gaze(1.0, 0.5), None, Gaze(2.0, 0.0)]
    found, counted = described(["a", "", "c"], [["a", "b", "c"]], gazes=gazes)
    assert [sentence.gaze for sentence in found] == gazes
    assert counted.gaze == Gaze(1.5, 0.25)
