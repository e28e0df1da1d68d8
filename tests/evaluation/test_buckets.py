"""Buckets hold what their labels say, and are scored as if they were the whole test set."""

import pytest

from saccade.evaluation.buckets import (
    by_frequency,
    by_kind,
    by_length,
    ending,
    frequencies,
    has_name,
    has_number,
    scored,
)
from saccade.evaluation.comparison import compare


def test_lengths_are_about_equal_parts_and_the_longest():
    texts = ["w " * (1 + row) for row in range(100)]
    found = by_length(texts)
    # The longest twentieth, five sentences, would be too few for a bucket of their own.
    assert [(label, len(rows)) for label, rows in found] == [(f"{n}–{n + 19}", 20) for n in (1, 21, 41, 61)] + [
        ("81+", 20)
    ]
    assert sorted(row for _, rows in found for row in rows) == list(range(100))
    assert [label for label, _ in by_length(texts * 3)][-2:] == ["81–95", "96+"]


def test_few_sentences_or_one_length_are_one_bucket():
    assert by_length(["a b"] * 40) == [("2", list(range(40)))]
    assert [label for label, _ in by_length(["a", "a b", "a b c"])] == ["1+"]
    assert [label for label, _ in by_length([""])] == ["0"]


def test_frequency_is_that_of_the_rarest_word():
    known = frequencies(["The dog the Dog", "the cat"])
    assert known == {"the": 3, "dog": 2, "cat": 1}
    references = ["The dog"] * 10 + ["the cat"] * 10 + ["the fox"] * 10 + ["..."] * 10
    assert by_frequency(references, known) == [
        ("0", list(range(20, 30))),
        ("1", list(range(10, 20))),
        ("2", list(range(10))),
    ]
    assert [label for label, _ in by_frequency(references[:20], known)] == ["1", "2"]
    assert by_frequency(["..."], known) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A dog runs.", "statement"),
        ("A dog runs. ", "statement"),
        ("„Ein Hund rennt.“", "statement"),
        ("»Ein Hund rennt.«", "statement"),
        ('He said "no."', "statement"),
        ("（他走了。）", "statement"),
        ("他走了……", "statement"),
        ("Is it?", "question"),
        ("What?!", "question"),
        ("你好吗？", "question"),
        ("「你好吗？」", "question"),
        ("هل أنت هنا؟", "question"),
        ("Stop!", "exclamation"),
        ("停！", "exclamation"),
        ("Chapter one", "fragment"),
        ("第一章", "fragment"),
        ("", "fragment"),
    ],
)
def test_how_a_sentence_ends(text, kind):
    assert ending(text) == kind


@pytest.mark.parametrize(
    ("text", "number", "name"),
    [
        ("We met Anna in 2019.", True, True),
        ("We met. They left.", False, False),
        ("Then I'm sure I said so.", False, False),
        ("he has an iPhone", False, True),
        ("他有二十本书。", True, False),
        ("他有一本书。", False, False),
        ("他在NBA打球。", False, True),
        ("٣ كتب", True, False),
    ],
)
def test_numbers_and_names(text, number, name):
    assert (has_number(text), has_name(text)) == (number, name)


def test_a_sentence_may_be_of_several_kinds():
    found = dict(by_kind(["See Bob in 2019?", "no", "Oh no!"]))
    assert found == {"question": [0], "exclamation": [2], "fragment": [1], "number": [0], "name": [0]}


def test_a_bucket_is_scored_as_a_test_set_of_its_own(test_set):
    compared = compare(test_set.systems, [test_set.references], language="de", samples=100)
    rows = [3, 8, 9, 20, 41]
    grouping = scored("length", "source", [("some", rows)], compared)
    alone = compare(
        {name: [lines[row] for row in rows] for name, lines in test_set.systems.items()},
        [[test_set.references[row] for row in rows]],
        language="de",
        samples=100,
    )
    (bucket,) = grouping.buckets
    for name, scores in bucket.scores.items():
        wanted = {each.name: each for each in alone.scores[name]}
        assert set(scores) == {"BLEU", "chrF2"}
        for metric, score in scores.items():
            assert score.value == pytest.approx(wanted[metric].value)
            assert score.interval == wanted[metric].interval
