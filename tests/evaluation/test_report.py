"""The report gathers what the parts find out, and its JSON holds all of it."""

import json

import pytest

from saccade.evaluation.comparison import compare
from saccade.evaluation.report import Report, Submission, report


@pytest.fixture(scope="module")
def found(test_set) -> Report:
    compared = compare(test_set.systems, [test_set.references], language="de", samples=50)
    handed_in = {name: Submission(lines, facts={"perplexity": 2.5}) for name, lines in test_set.systems.items()}
    return report(compared, handed_in, [test_set.references], sources=test_set.references[::-1])


def test_lines_stay_beside_each_other(found, test_set):
    assert len(found) == 50
    for system in found.systems:
        assert [sentence.text for sentence in system.sentences] == test_set.systems[system.name]


def test_what_is_looked_at(found, test_set):
    assert [(grouping.name, grouping.text) for grouping in found.groupings] == [
        ("length", "source"),
        ("frequency", "reference"),
        ("kind", "source"),
    ]
    compared = compare(test_set.systems, [test_set.references], language="de", samples=2)
    handed_in = {name: Submission(lines) for name, lines in test_set.systems.items()}
    alone = report(compared, handed_in, [test_set.references], frequencies={"dog": 3})
    assert [grouping.text for grouping in alone.groupings] == ["reference", "training", "reference"]
    assert alone.sources is None


def test_buckets_of_lengths_and_frequencies_hold_every_sentence_once(found):
    for grouping in found.groupings[:2]:
        rows = [row for bucket in grouping.buckets for row in bucket.rows]
        assert sorted(rows) == list(range(50))


def test_json_is_plain_and_whole(found, test_set):
    read = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [system["name"] for system in read["systems"]] == ["worse", "better"]
    first = read["systems"][1]["scores"][0]
    score = found.systems[1].scores[0]
    assert (first["name"], first["value"], first["p_value"]) == ("BLEU", score.value, score.p_value)
    assert first["interval"]["margin"] == score.interval.margin
    assert "p_value" not in read["systems"][0]["scores"][0]
    assert read["systems"][0]["perplexity"] == 2.5
    assert read["systems"][0]["oddities"]["repeating"] == found.systems[0].oddities.repeating
    assert len(read["sentences"]) == 50
    line = read["sentences"][7]
    assert line["references"] == [test_set.references[7]]
    assert line["systems"]["worse"]["text"] == test_set.systems["worse"][7]
    assert line["systems"]["worse"]["chrf"] == found.systems[0].sentences[7].chrf
    bucket = read["groupings"][0]["buckets"][0]
    assert bucket["sentences"] == len(bucket["rows"]) > 0
    assert set(bucket["scores"]["better"]) == {"BLEU", "chrF2"}
