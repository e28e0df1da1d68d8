"""`saccade bench`, in small: who takes part, what the tables say, and what bad options are told."""

import json
import sys
from pathlib import Path

import pytest

ECHO = f"""
import sys
from pathlib import Path

sys.path.insert(0, {str(Path(__file__).parents[2] / "src")!r})

from saccade.benchmark.sentences import Sentences
from saccade.benchmark.translating import take_turns
from saccade.benchmark.turns import Turns

take_turns(Turns("Echo 1.0"), lambda texts, beam: texts, Sentences.open(Path(sys.argv[1])).sources)
"""
SMALL = ["--windows", "2", "--seconds", "0.05"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model, a corpus and a vocabulary so small that most of the time goes into starting processes."""
    from saccade.benchmark import corpus, race, work
    from saccade.cli import bench
    from saccade.models.settings import TransformerSettings

    monkeypatch.delenv("SACCADE_DATA", raising=False)
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2, dropout=0.3)
    for module in (bench, work):
        monkeypatch.setattr(module, "SIZES", {"tiny": settings})
    for name, value in {"VOCABULARY": 400, "BATCH_TOKENS": 128, "THREADS": 1}.items():
        monkeypatch.setattr(work, name, value)
    monkeypatch.setattr(corpus, "NUM_GENERATED", 60)
    monkeypatch.setattr(bench, "PLAIN", ("everywhere",))
    monkeypatch.setattr(bench, "OURS", ("feed-forward",))
    monkeypatch.setattr(race, "SGEMM_SECONDS", 0.05)


def table(stdout: str) -> list[list[str]]:
    """The cells of a Markdown table, without its rule."""
    lines = [line.strip("|").split("|") for line in stdout.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in (lines[0], *lines[2:])]


def test_our_training_beside_a_plain_loop(small: None, saccade, tmp_path: Path):
    ended = saccade("bench", "train", *SMALL, "--json", tmp_path / "figures.json")
    assert ended.code == 0, ended.stderr
    columns, *rows = table(ended.stdout)
    wanted = ["", "dropout", "tokens/s", "× plain", "tokens/update", "peak MiB", "× plain", "of sgemm peak"]
    assert columns == wanted
    assert [row[:2] for row in rows] == [
        ["plain torch loop", "residual, feed-forward, attention"],
        ["saccade", "residual, feed-forward"],
    ]
    assert rows[0][3] == "1.00 (1.00–1.00)"
    assert rows[0][6] == "1.00"
    assert all(0 < float(row[7].rstrip("%")) < 100 for row in rows)
    assert "torch 2" in ended.stdout
    assert "generated sentences" in ended.stdout
    (figures,) = json.loads((tmp_path / "figures.json").read_text("utf-8"))["sizes"]
    assert [len(each["tokens_per_second"]) for each in figures["contestants"]] == [2, 2]
    assert all(each["peak_mib"] > 50 for each in figures["contestants"])


def test_what_a_trick_gains(small: None, saccade, monkeypatch: pytest.MonkeyPatch):
    from saccade.benchmark import tricks

    monkeypatch.setattr(tricks, "TRICKS", {"chunks": tricks.TRICKS["chunks"]})
    ended = saccade("bench", "tricks", "--windows", "1", "--seconds", "0.05")
    assert ended.code == 0, ended.stderr
    columns, whole, without = table(ended.stdout)
    assert columns == ["without", "tokens/s", "gain of having it", "peak MiB", "memory saved, MiB"]
    assert whole[0] == "(all there)"
    assert without[0] == tricks.TRICKS["chunks"].what


def test_a_file_of_figures_that_exists(saccade, tmp_path: Path):
    (tmp_path / "figures.json").write_text("mine")
    ended = saccade("bench", "train", "--json", tmp_path / "figures.json")
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {tmp_path}/figures.json exists already. Remove it or name another file; nothing was measured.\n"
    )
    assert (tmp_path / "figures.json").read_text() == "mine"


@pytest.mark.parametrize("words", [["train"], ["decode", "--model", "none"]])
def test_peers_that_are_not_installed(words: list[str], saccade, tmp_path: Path):
    ended = saccade("bench", *words, "--peers", tmp_path)
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {tmp_path} must hold other toolkits, each installed below venv, but none is. In saccade's repository, "
        "run benchmarks/peers/install.sh, then give --peers benchmarks/peers.\n"
    )


def test_no_data_below_the_variable(saccade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    ended = saccade("bench", "train")
    assert ended.code == 1
    assert f"The file {tmp_path}/multi30k/train.en, named by data.train[0].source, must exist" in ended.stderr


@pytest.mark.parametrize("words", [["--size", "huge"], ["--windows", "0"], ["--seconds", "0"], ["--window", "2"]])
def test_wrong_options(words: list[str], saccade):
    ended = saccade("bench", "train", *words)
    assert (ended.code, ended.stdout) == (2, "")
    assert words[0] in ended.stderr


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """Peers, of which one translates by saying the same. Its Python has the standard library and nothing else."""
    python, script = tmp_path / "peers/venv/echo/bin/python", tmp_path / "peers/decode/echo.py"
    for path in (python, script):
        path.parent.mkdir(parents=True)
    script.write_text(ECHO)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    return tmp_path / "peers"


def test_our_translating_beside_others(
    saccade, trained: Path, echo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    from saccade.benchmark import decoding

    monkeypatch.setattr(decoding, "find_spec", lambda name: None)  # as where there is no torch
    monkeypatch.setattr(decoding, "SINGLES", 2)
    monkeypatch.setattr(decoding, "FOR_PEERS", 10)
    ended = saccade(
        *("bench", "decode", "--model", trained / "run", "--sentences", "20", "--windows", "2", "--peers", echo),
        *("--source", trained / "train.en", "--reference", trained / "train.de", "--json", tmp_path / "figures.json"),
    )
    assert ended.code == 0, ended.stderr
    columns, *rows = table(ended.stdout)
    assert columns == list(decoding.COLUMNS)
    assert [row[0] for row in rows[:5]] == [
        "CTranslate2 by hand, float32",
        "saccade, float32",
        "CTranslate2 by hand, int8",
        "saccade, int8",
        "Echo 1.0, first 10 sentences",
    ]
    assert [row[2] for row in rows[:4:2]] == ["1.00 (1.00–1.00)"] * 2
    assert {row[8] for row in rows[:4]} == {"0.00"}, "two words have no four in a row, whoever translates them"
    assert "### greedy" in ended.stdout
    assert "20 sentences, train.en" in ended.stdout
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert [each["beam"] for each in figures["contestants"]] == [5] * 5 + [1] * 5
    assert [each["sentences"] for each in figures["contestants"]] == [20, 20, 20, 20, 10] * 2
    assert all(len(each["seconds"]) == 2 for each in figures["contestants"])


def test_a_reference_without_its_source(saccade, trained: Path):
    ended = saccade("bench", "decode", "--model", trained / "run", "--reference", trained / "train.de")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--reference goes with --source" in ended.stderr
