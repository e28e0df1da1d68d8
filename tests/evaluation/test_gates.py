"""Good enough, or not: minimums, and an earlier evaluation."""

import json
from pathlib import Path

import pytest

from saccade.errors import DataError
from saccade.evaluation.gates import failures, read_baseline, regressions
from saccade.evaluation.scores import CorpusScore
from saccade.evaluation.significance import Interval


def scored(value: float, name: str = "BLEU", signature: str = "nrefs:1|tok:13a|version:2.6.0") -> CorpusScore:
    return CorpusScore(name, value, signature, Interval(value, value - 2, value + 2))


def test_a_minimum_is_a_maximum_where_lower_is_better():
    scores = {"a": [scored(29.9), scored(60, "TER")], "b": [scored(30), scored(50, "TER")]}
    found = list(failures(scores, {"BLEU": 30, "TER": 50}))
    assert found == ["BLEU of a must be at least 30, but it is 29.90.", "TER of a must be at most 50, but it is 60.00."]
    assert list(failures(scores, {})) == []


@pytest.mark.parametrize(("value", "is_worse"), [(33, False), (30, False), (28.5, False), (27.9, True)])
def test_worse_is_what_the_interval_does_not_explain(value, is_worse):
    found = list(regressions({"new": [scored(value)]}, {"old": [scored(30)]}))
    assert bool(found) == is_worse
    assert all("30.00" in sentence and f"{value:.2f}" in sentence for sentence in found)


def test_ter_is_worse_when_it_rises():
    assert list(regressions({"a": [scored(55, "TER")]}, {"a": [scored(50, "TER")]}))
    assert not list(regressions({"a": [scored(45, "TER")]}, {"a": [scored(50, "TER")]}))


def test_only_what_was_computed_alike_is_compared():
    newer = scored(30, signature="nrefs:1|tok:13a|version:2.5.1")
    assert list(regressions({"a": [scored(30)]}, {"a": [newer]})) == []
    with pytest.raises(DataError, match="tok:zh"):
        list(regressions({"a": [scored(30)]}, {"a": [scored(30, signature="nrefs:1|tok:zh|version:2.6.0")]}))


def test_among_several_the_one_of_the_same_name_counts():
    baseline = {"a": [scored(40)], "b": [scored(20)]}
    assert not list(regressions({"b": [scored(20)]}, baseline))
    with pytest.raises(DataError, match="a, b"):
        list(regressions({"c": [scored(20)]}, baseline))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"systems": [1]}', "\xff", '{"systems": [{"name": "a"}]}'])
def test_a_baseline_that_is_something_else(content: str, tmp_path: Path):
    (tmp_path / "old.json").write_text(content, "latin-1")
    with pytest.raises(DataError, match=r"old\.json must be what `saccade evaluate --json`"):
        read_baseline(tmp_path / "old.json")


def test_a_baseline_is_read(tmp_path: Path):
    table = {"systems": [{"name": "a", "scores": [{"name": "BLEU", "value": 3, "signature": "x"}]}]}
    (tmp_path / "old.json").write_text(json.dumps(table))
    assert read_baseline(tmp_path / "old.json") == {"a": [CorpusScore("BLEU", 3.0, "x")]}
