"""`saccade evaluate`."""

import json
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
    names, values, signatures = zip(*(line.split() for line in ended.stdout.splitlines()), strict=True)
    assert names == ("BLEU", "chrF2", "TER")
    assert [float(value) for value in values] == pytest.approx([100, 100, 100 * 2 / 12], abs=0.01)
    assert all(signature.startswith("nrefs:1|case:") for signature in signatures)
    assert "tok:13a" in signatures[0]


def test_json(saccade, files: Path):
    ended = saccade("evaluate", "--hypotheses", files / "test.de", "-r", files / "test.de", "-l", "de", "--json")
    scores = json.loads(ended.stdout)["scores"]
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
        found[language] = json.loads(ended.stdout)["scores"][0]
    assert "tok:zh" in found["zh"]["signature"]
    assert found["zh"] == found["zh-CN"]
    assert found["zh"]["value"] > 50 > found["de"]["value"]


def test_a_model(saccade, trained: Path, tmp_path: Path):
    ended = saccade(
        *("evaluate", "-m", trained / "run", "-s", trained / "train.en", "-r", trained / "train.de", "--json"),
        *("-o", tmp_path / "out.de", "--beam", "2"),
    )
    assert (ended.code, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
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


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--model", "m"],
        ["--source", "s"],
        ["--hypotheses", "h", "--model", "m"],
        ["--hypotheses", "h", "--source", "s"],
        ["--hypotheses", "h", "--output", "o"],
    ],
)
def test_wrong_usage(options: list[str], saccade, files: Path):
    ended = saccade("evaluate", "--reference", files / "test.de", *options)
    assert ended.code == 2
    assert "give --hypotheses alone, or --model with --source" in ended.stderr
