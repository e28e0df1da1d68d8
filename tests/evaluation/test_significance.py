"""Intervals and p-values are those of the `sacrebleu` command, to the last digit that it prints."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from saccade.errors import SaccadeError
from saccade.evaluation import significance
from saccade.evaluation.comparison import Comparison, compare
from saccade.evaluation.significance import counted, interval, resampled, score

NUMBER = r"(\d+\.\d{10})"


def of_the_command(directory: Path, systems: dict[str, list[str]], references: list[list[str]], *options: str) -> str:
    """What `sacrebleu` prints; as LaTeX, since it cannot write a paired test as JSON."""
    for name, lines in systems.items():
        (directory / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    for number, lines in enumerate(references):
        (directory / f"ref{number}").write_text("".join(line + "\n" for line in lines), "utf-8")
    command = [sys.executable, "-m", "sacrebleu", *(f"ref{number}" for number in range(len(references)))]
    command += ["-i", *systems, "-m", "bleu", "chrf", "ter", "--width", "10", "--format", "latex", *options]
    return subprocess.run(command, cwd=directory, capture_output=True, check=True, encoding="utf-8").stdout


def signatures(printed: str) -> list[str]:
    return re.findall(r"^ - (?:BLEU|chrF2|TER) +(\S+)$", printed, re.MULTILINE)


def all_scores(comparison: Comparison) -> list:
    return [each for scores in comparison.scores.values() for each in scores]


@pytest.mark.parametrize("seed", [None, "7"])
def test_the_paired_bootstrap_of_the_command(seed, tmp_path, monkeypatch, test_set):
    if seed:
        monkeypatch.setenv("SACREBLEU_SEED", seed)
    else:
        monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    before = dict(os.environ)
    ours = compare(test_set.systems, [test_set.references], language="de", samples=300)
    assert dict(os.environ) == before

    options = ("--paired-bs", "--paired-bs-n", "300")
    printed = of_the_command(tmp_path, test_set.systems, [test_set.references], *options)
    found = re.findall(rf"{NUMBER} \({NUMBER} ± {NUMBER}\)(?: \(p = ([\d.]+)\))?", printed)
    assert [
        (
            f"{each.value:.10f}",
            f"{each.interval.mean:.10f}",
            f"{each.interval.margin:.10f}",
            "" if each.p_value is None else f"{each.p_value:.4f}",
        )
        for each in all_scores(ours)
    ] == found
    assert len(found) == 6
    assert len({p for *_, p in found[3:]}) > 1, "p-values that differ, so that equal ones mean something"
    assert [each.signature for each in ours.scores["worse"]] == signatures(printed)
    assert f"seed:{seed or 12345}" in ours.scores["worse"][0].signature


def test_the_approximate_randomization_of_the_command(tmp_path, monkeypatch, test_set):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    monkeypatch.setattr(significance, "_DRAWN_AT_ONCE", 50 * 100)
    ours = compare(test_set.systems, [test_set.references], language="de", test="randomization", samples=300)
    options = ("--paired-ar", "--paired-ar-n", "300")
    printed = of_the_command(tmp_path, test_set.systems, [test_set.references], *options)
    found = re.findall(rf"{NUMBER}(?: \(p = ([\d.]+)\))?", printed)
    assert [
        (f"{each.value:.10f}", "" if each.p_value is None else f"{each.p_value:.4f}") for each in all_scores(ours)
    ] == found
    assert all(p for _, p in found[3:])
    assert "|ar:300|" in ours.scores["worse"][0].signature


def test_several_references_and_three_systems(tmp_path, monkeypatch, test_set):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    references = [test_set.references, [line.replace("dog", "hound") for line in test_set.references]]
    systems = {**test_set.systems, "other": references[1]}
    ours = compare(systems, references, language="", samples=100)
    printed = of_the_command(tmp_path, systems, references, "--paired-bs", "--paired-bs-n", "100")
    found = re.findall(rf"{NUMBER} \({NUMBER} ± {NUMBER}\)", printed)
    assert len(found) == 9
    assert [
        (f"{each.value:.10f}", f"{each.interval.mean:.10f}", f"{each.interval.margin:.10f}")
        for each in all_scores(ours)
    ] == found
    assert "nrefs:2" in ours.scores["other"][0].signature


def test_one_system_has_the_interval_of_the_command(tmp_path, monkeypatch, test_set):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    one = {"worse": test_set.systems["worse"]}
    ours = compare(one, [test_set.references], language="de")
    printed = of_the_command(tmp_path, one, [test_set.references], "--confidence", "--format", "json")
    theirs = [(each["confidence_var"], each["signature"]) for each in json.loads(printed)]
    assert [(round(each.interval.margin, 10), each.signature) for each in ours.scores["worse"]] == theirs
    assert all(each.p_value is None for each in ours.scores["worse"])


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_p_values_to_the_last_bit(test, monkeypatch, test_set):
    """The command prints four digits of them."""
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    ours = compare(test_set.systems, [test_set.references], language="de", test=test, samples=200)
    metrics = {"BLEU": BLEU(force=True), "CHRF": CHRF(), "TER": TER()}
    kind = {"bootstrap": "bs", "randomization": "ar"}[test]
    theirs = PairedTest(list(test_set.systems.items()), metrics, [test_set.references], kind, n_samples=200)()[1]
    assert [each.p_value for each in ours.scores["better"]] == [
        theirs[name][1].p_value for name in ("BLEU", "chrF2", "TER")
    ]


def test_draws_in_parts_are_the_same_draws(monkeypatch, test_set):
    counts = counted(CHRF(), test_set.systems["worse"], [test_set.references])
    at_once = resampled(CHRF(), counts, samples=40, seed=1)
    monkeypatch.setattr(significance, "_DRAWN_AT_ONCE", 3 * len(counts))
    assert (resampled(CHRF(), counts, samples=40, seed=1) == at_once).all()
    assert len(set(at_once)) == 40


def test_an_interval_by_hand():
    """Of 1 … 80, two are left out at either end."""
    found = interval(np.arange(1.0, 81)[::-1])
    assert (found.mean, found.lower, found.upper, found.margin) == (40.5, 3, 78, 37.5)


def test_a_system_is_not_different_from_itself(test_set):
    same = {"a": test_set.systems["worse"], "b": list(test_set.systems["worse"])}
    for test in ("bootstrap", "randomization"):
        found = compare(same, [test_set.references], language="de", test=test, samples=50).scores["b"]
        assert all(each.p_value is not None and each.p_value > 0.01 for each in found)


def test_score_of_counts_is_the_corpus_score(test_set):
    for metric in (BLEU(), CHRF(), TER()):
        counts = counted(metric, test_set.systems["worse"], [test_set.references])
        wanted = metric.corpus_score(test_set.systems["worse"], [test_set.references]).score
        assert score(metric, counts) == wanted


def test_the_seed_none_draws_anew_but_for_all_systems_alike(monkeypatch, test_set):
    monkeypatch.setenv("SACREBLEU_SEED", "None")
    same = {"a": test_set.systems["worse"], "b": list(test_set.systems["worse"])}
    once, again = (compare(same, [test_set.references], language="de", samples=50).scores for _ in range(2))
    assert once["a"][0].interval == once["b"][0].interval != again["a"][0].interval
    assert "seed:none" in once["a"][0].signature


@pytest.mark.parametrize("word", ["one", "-1", "", "²"])
def test_a_seed_that_is_none(word, monkeypatch, test_set):
    monkeypatch.setenv("SACREBLEU_SEED", word)
    with pytest.raises(SaccadeError) as caught:
        compare(test_set.systems, [test_set.references], language="de")
    assert str(caught.value) == (
        f"SACREBLEU_SEED must be a whole number, or none for other draws each time, but it is {word!r}. "
        "Change or unset it."
    )
