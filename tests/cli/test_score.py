"""`saccade score`: a line for each pair, by either engine, with the numbers that a search has found."""

import gzip
import json
import os
from pathlib import Path

import pytest

import saccade as door
from saccade.directory import ModelDirectory

ENGINES = ("ctranslate2", "torch")
SOURCES = ["lion fox", "", "bee ant", "  ", "cat", "dog dog"]
TARGETS = ["Löwe Fuchs", "", "Biene Biene", "Hund", "", "Hund Hund"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, lines in (("a.en", SOURCES), ("a.de", TARGETS)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return tmp_path / "a.en", tmp_path / "a.de"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_for_each_pair(engine: str, saccade, trained: Path, files: tuple[Path, Path]):
    ended = saccade("score", "--model", trained / "run", *files, "--engine", engine)
    assert (ended.code, ended.stderr) == (0, "Pairs with a blank side, which have no score: 3\n")
    rows = ended.stdout.split("\n")
    assert [bool(row) for row in rows] == [True, False, True, False, False, True, False]
    found = [[float(number) for number in row.split("\t")] for row in rows if row]
    assert found[0][0] > -1 > found[1][0], "a right translation is likelier than a wrong one"
    target = ModelDirectory.open(trained / "run").tokenizers.target
    lengths = [len(target.encode(text)) + 1 for text in ("Löwe Fuchs", "Biene Biene", "Hund Hund")]
    assert [each for _, each in found] == pytest.approx(
        [total / length for (total, _), length in zip(found, lengths, strict=True)], abs=2e-4
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("beam", ["1", "4"])
def test_a_translation_is_scored_as_it_was_found(engine: str, beam: str, saccade, trained: Path, tmp_path: Path):
    translator = door.load(trained / "run", engine=engine)
    settings = door.SearchSettings(beam=int(beam))
    lines = (trained / "valid.en").read_text("utf-8").splitlines()
    searched = translator.translate(lines, search=settings)
    (tmp_path / "a.de").write_text("".join(f"{each.text}\n" for each in searched), "utf-8")
    ended = saccade("score", "-m", trained / "run", trained / "valid.en", tmp_path / "a.de", "--engine", engine)
    rows = [line.split("\t") for line in ended.stdout.splitlines()]
    assert [float(total) for total, _ in rows] == pytest.approx([each.log_prob for each in searched], abs=2e-4)
    assert [float(mean) for _, mean in rows] == pytest.approx([each.score for each in searched], abs=2e-4)


def test_json_has_every_token(saccade, trained: Path, files: tuple[Path, Path]):
    found = {}
    for engine in ENGINES:
        ended = saccade("score", "-m", trained / "run", *files, "--json", "--engine", engine)
        found[engine] = [json.loads(line) for line in ended.stdout.splitlines()]
    plain = saccade("score", "-m", trained / "run", *files).stdout.split("\n")
    for one, other, line in zip(*found.values(), plain, strict=False):
        assert one["tokens"] == other["tokens"]
        assert one["log_probs"] == pytest.approx(other["log_probs"], abs=1e-4)
        assert one["log_prob"] is None if not line else sum(one["log_probs"]) == pytest.approx(one["log_prob"])
    assert found["torch"][0]["tokens"] == ["▁Löwe", "▁Fuchs", "</s>"]
    assert found["torch"][1] == {"log_prob": None, "tokens": [], "log_probs": []}


def test_company_and_chunks_change_nothing(saccade, trained: Path, monkeypatch: pytest.MonkeyPatch):
    words = ("score", "-m", trained / "run", trained / "train.en", trained / "train.de")
    together = saccade(*words).stdout
    monkeypatch.setattr("saccade.scorer.CHUNK", 5)
    assert saccade(*words).stdout.count("\n") == together.count("\n") == 36
    for one, other in zip(saccade(*words).stdout.split(), together.split(), strict=True):
        assert float(one) == pytest.approx(float(other), abs=2e-4)


def test_several_models_score_together(saccade, trained: Path, files: tuple[Path, Path]):
    once = saccade("score", "-m", trained / "run", *files, "--engine", "torch")
    twice = saccade("score", "-m", trained / "run", "-m", trained / "run", *files)
    for one, two in zip(once.stdout.split(), twice.stdout.split(), strict=True):
        assert float(one) == pytest.approx(float(two), abs=2e-4)


def test_compressed_files_and_pipes(saccade, trained: Path, files: tuple[Path, Path], tmp_path: Path):
    expected = saccade("score", "-m", trained / "run", *files).stdout
    packed = tmp_path / "a.de.gz"
    packed.write_bytes(gzip.compress(files[1].read_bytes()))
    assert saccade("score", "-m", trained / "run", files[0], packed).stdout == expected
    reading, writing = os.pipe()
    os.write(writing, files[0].read_bytes())
    os.close(writing)
    ended = saccade("score", "-m", trained / "run", f"/dev/fd/{reading}", packed)
    os.close(reading)
    assert ended.stdout == expected


def test_an_empty_corpus_has_no_scores(saccade, trained: Path, tmp_path: Path):
    (tmp_path / "empty").write_text("")
    assert saccade("score", "-m", trained / "run", tmp_path / "empty", tmp_path / "empty") == (0, "", "")
