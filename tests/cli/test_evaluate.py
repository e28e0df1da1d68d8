"""`saccade evaluate`."""

import json
import re
from pathlib import Path

import pytest


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "out.de").write_text("Ein Hund läuft durch den Park .\nZwei Katzen schlafen auf dem Sofa.\n", "utf-8")
    (tmp_path / "test.de").write_text("Ein Hund läuft durch den Park.\nZwei Katzen schlafen auf dem Sofa.\n", "utf-8")
    return tmp_path


def test_hypotheses(saccade, files: Path):
    ended = saccade("evaluate", "--hypotheses", files / "out.de", "--reference", files / "test.de", "--language", "de")
    assert (ended.code, ended.stderr) == (0, "")
    names, values, signs, margins, signatures = zip(*(line.split() for line in ended.stdout.splitlines()), strict=True)
    assert names == ("BLEU", "chrF2", "TER")
    assert [float(value) for value in values] == pytest.approx([100, 100, 100 * 2 / 12], abs=0.01)
    assert signs == ("±", "±", "±")
    assert [float(margin) for margin in margins[:2]] == [0, 0]
    assert float(margins[2]) > 5, "one of the two lines needs two edits, the other none"
    assert all(signature.startswith("nrefs:1|bs:1000|seed:12345|case:") for signature in signatures)
    assert "tok:13a" in signatures[0]


def test_json(saccade, files: Path):
    ended = saccade("evaluate", "--hypotheses", files / "test.de", "-r", files / "test.de", "-l", "de", "--json")
    (system,) = json.loads(ended.stdout)["systems"]
    scores = system["scores"]
    assert system["name"] == "test.de"
    assert {score["name"]: score["value"] for score in scores} == pytest.approx({"BLEU": 100, "chrF2": 100, "TER": 0})
    assert all("version:" in score["signature"] for score in scores)


def test_without_a_language_it_says_what_it_takes(saccade, files: Path):
    ended = saccade("evaluate", "--hypotheses", files / "out.de", "-r", files / "test.de")
    assert ended.code == 0
    assert ended.stderr == (
        "No --language given: BLEU uses the tokenisation for languages written with spaces (13a).\n"
    )


def test_chinese_is_cut_into_characters(saccade, tmp_path: Path):
    (tmp_path / "out.zh").write_text("一只黄狗在公园里跑。\n", "utf-8")
    (tmp_path / "test.zh").write_text("一只黑狗在公园里跑。\n", "utf-8")
    found = {}
    for language in ("zh", "zh-CN", "de"):
        ended = saccade(
            "evaluate", "--hypotheses", tmp_path / "out.zh", "-r", tmp_path / "test.zh", "-l", language, "--json"
        )
        found[language] = json.loads(ended.stdout)["systems"][0]["scores"][0]
    assert "tok:zh" in found["zh"]["signature"]
    assert found["zh"] == found["zh-CN"]
    assert found["zh"]["value"] > 50 > found["de"]["value"]


def test_a_model(saccade, trained: Path, tmp_path: Path):
    ended = saccade(
        *("evaluate", "-m", trained / "run", "-s", trained / "train.en", "-r", trained / "train.de", "--json"),
        *("-o", tmp_path / "out.de", "--beam", "2"),
    )
    assert (ended.code, ended.stderr) == (0, "")
    (found,) = json.loads(ended.stdout)["systems"]
    values = {score["name"]: score["value"] for score in found["scores"]}
    assert values == pytest.approx({"BLEU": 0, "chrF2": 100, "TER": 0}), "there are no four words in a row for BLEU"
    assert 1 < found["perplexity"] < 1.5
    assert found["tokens"] == 3 * 36, "two words and the end of each"
    assert found["beam"] == 2
    assert (tmp_path / "out.de").read_bytes() == (trained / "train.de").read_bytes()


def test_a_model_in_words(saccade, trained: Path):
    stdout = saccade("evaluate", "-m", trained / "run", "-s", trained / "train.en", "-r", trained / "train.de").stdout
    assert [line.split()[0] for line in stdout.splitlines()] == ["BLEU", "chrF2", "TER", "ppl"]
    assert stdout.endswith("  per target token, of 108; beam 5\n")


def test_blank_lines_do_not_disturb(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "a.en").write_text("\nfox dog\ncat cat\n")
    (tmp_path / "a.de").write_text("Hund\n\nKatze Katze\n")
    ended = saccade("evaluate", "-m", trained / "run", "-s", tmp_path / "a.en", "-r", tmp_path / "a.de")
    assert (ended.code, ended.stderr) == (0, "")


def test_two_systems(saccade, files: Path):
    words = ("--hypotheses", files / "out.de", "--hypotheses", f"new={files / 'test.de'}", "-r", files / "test.de")
    ended = saccade("evaluate", *words, "-l", "de")
    assert ended.code == 0
    head, first, other, _, *signatures = ended.stdout.splitlines()
    assert head.split() == ["BLEU", "chrF2", "TER"]
    assert first.split()[0] == "out.de"
    assert "p =" not in first
    assert other.split()[0] == "new"
    assert other.count("p = ") == 3
    assert [found.start() for found in re.finditer("±", first)] == [
        found.start() for found in re.finditer("±", other)
    ], "columns stand under each other"
    assert [line.split()[0] for line in signatures] == ["BLEU", "chrF2", "TER"]
    assert ended.stderr.startswith("± is half of the 95% interval; p says how likely chance alone makes a difference")


def test_randomization(saccade, files: Path):
    words = ("--hypotheses", files / "out.de", "--hypotheses", files / "test.de", "-r", files / "test.de")
    ended = saccade("evaluate", *words, "-l", "de", "--test", "randomization", "--json")
    found = json.loads(ended.stdout)["systems"]
    assert all("|bs:1000|ar:10000|" in score["signature"] for score in found[1]["scores"])
    assert [["p_value" in score for score in system["scores"]] for system in found] == [[False] * 3, [True] * 3]


def test_several_references(saccade, files: Path):
    words = ("--hypotheses", files / "out.de", "-r", files / "test.de", "-r", files / "out.de", "-l", "de")
    ended = saccade("evaluate", *words)
    assert "nrefs:2|" in ended.stdout
    assert re.search(r"TER +0\.00 ", ended.stdout), "the second reference is the translation itself"


def test_a_report(saccade, files: Path, tmp_path: Path):
    (tmp_path / "in.en").write_text("A dog runs through the park.\nTwo cats sleep on the sofa.\n")
    (tmp_path / "training.de").write_text("Ein Hund läuft.\n" * 3, "utf-8")
    words = ("--hypotheses", files / "out.de", "-r", files / "test.de", "-l", "de", "-s", tmp_path / "in.en")
    report = tmp_path / "report.html"
    ended = saccade("evaluate", *words, "--training-text", tmp_path / "training.de", "--report", report)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == str(report)
    page = report.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "Two cats sleep on the sofa." in page
    assert "stands in the training text" in page


def test_a_report_on_models_looks_at_their_attention(saccade, trained: Path, tmp_path: Path):
    words = ("-m", trained / "run", "-m", f"greedy={trained / 'run'}", "-s", trained / "train.en")
    report = tmp_path / "report.html"
    ended = saccade("evaluate", *words, "-r", trained / "train.de", "--report", report, "--json")
    assert (ended.code, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert [system["name"] for system in found["systems"]] == [trained.name, "greedy"]
    for system in found["systems"]:
        assert 0 <= system["oddities"]["gaze"]["entropy"] < 1.1, "at most ln 3: two words and the end"
        assert 0 <= system["oddities"]["gaze"]["uncovered"] <= 1
        assert system["perplexity"] > 1
    assert all(line["systems"]["greedy"]["gaze"] for line in found["sentences"])
    assert "Attention entropy" in report.read_text("utf-8")


def test_without_a_report_attention_is_not_asked_for(saccade, trained: Path):
    words = ("-m", trained / "run", "-s", trained / "train.en", "-r", trained / "train.de", "--json")
    assert json.loads(saccade("evaluate", *words).stdout)["systems"][0]["oddities"]["gaze"] is None


def test_a_model_without_attention_says_so(saccade, write_task, tmp_path: Path):
    recipe = write_task(tmp_path)
    small = ("model.kind=recurrent", "model.attention.positions=none", "training.updates=2", "training.warmup=1")
    text = recipe.read_text()
    recipe.write_text(re.sub(r"\[model\].*?\n\n", "[model]\nkind = 'recurrent'\n\n", text, flags=re.DOTALL))
    ended = saccade("train", recipe, *(word for each in small for word in ("--set", each)))
    assert ended.code == 0, ended.stderr
    words = ("-m", tmp_path / "run", "-s", tmp_path / "valid.en", "-r", tmp_path / "valid.de")
    ended = saccade("evaluate", *words, "--report", tmp_path / "report.html")
    assert (ended.code, ended.stderr) == (0, "")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "this model has no attention" in page
    assert "Attention entropy" not in page


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--model", "m"],
        ["--source", "s"],
        ["--hypotheses", "h", "--model", "m"],
        ["--hypotheses", "h", "--beam", "2"],
        ["--hypotheses", "h", "--output", "o"],
    ],
)
def test_wrong_usage(options: list[str], saccade, files: Path):
    ended = saccade("evaluate", "--reference", files / "test.de", *options)
    assert ended.code == 2
    assert "give --hypotheses, or --model with --source" in ended.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-m", "a", "-m", "b", "-s", "s", "-o", "o"], "--output takes the translations of one --model"),
        (["--hypotheses", "h", "--training-text", "t"], "--training-text is for --report and --json"),
    ],
)
def test_what_would_change_nothing(options: list[str], said: str, saccade, files: Path):
    ended = saccade("evaluate", "--reference", files / "test.de", *options)
    assert ended.code == 2
    assert said in ended.stderr


# -- good enough, or not --


def scored(saccade, files: Path, *options: object):
    return saccade("evaluate", "--hypotheses", files / "out.de", "-r", files / "test.de", "-l", "de", *options)


def test_a_summary_has_the_scores_alone(saccade, files: Path):
    table = json.loads(scored(saccade, files, "--json-summary").stdout)
    assert set(table) == {"language", "systems"}
    (system,) = table["systems"]
    assert set(system) == {"name", "scores"}
    assert all(set(score) == {"name", "value", "signature", "interval"} for score in system["scores"])


def test_a_score_under_its_minimum_fails_after_it_was_printed(saccade, files: Path):
    ended = scored(saccade, files, "--fail-under", "TER=10", "--fail-under", "bleu=30")
    assert ended.code == 1
    assert "TER" in ended.stdout
    assert ended.stderr == "error: TER of out.de must be at most 10, but it is 16.67.\n"
    assert scored(saccade, files, "--fail-under", "BLEU=30").code == 0


def test_worse_than_a_baseline_fails(saccade, files: Path):
    better = saccade("evaluate", "--hypotheses", files / "test.de", "-r", files / "test.de", "-l", "de", "--json")
    (files / "old.json").write_text(better.stdout, "utf-8")
    (files / "bad.de").write_text("Hund\nKatzen\n", "utf-8")
    words = ("-r", files / "test.de", "-l", "de", "--baseline", files / "old.json", "--fail-if-worse")
    ended = saccade("evaluate", "--hypotheses", files / "bad.de", *words)
    assert ended.code == 1
    assert "worse than the baseline's 100.00" in ended.stderr
    assert saccade("evaluate", "--hypotheses", files / "test.de", *words).code == 0


@pytest.mark.parametrize(
    "options", [["--fail-under", "BLEU"], ["--fail-under", "COMET=1"], ["--fail-if-worse"], ["--baseline", "x"]]
)
def test_gates_that_say_nothing(options: list[str], saccade, files: Path):
    ended = scored(saccade, files, *options)
    assert ended.code == 2
    assert options[0] in ended.stderr


def test_a_language_that_nobody_knows(saccade, files: Path):
    ended = saccade("evaluate", "--hypotheses", files / "out.de", "-r", files / "test.de", "-l", "klingon")
    assert (ended.code, ended.stdout) == (1, "")
    assert "`klingon` is not a language code" in ended.stderr
