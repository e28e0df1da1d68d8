"""The commands, in small: who takes part, what the tables say, and how bad options are refused."""

import json
import sys
from pathlib import Path

import annotated_types
import pytest

ECHO = """
import sys
from pathlib import Path

from benchmarks.decoding.turn import take_turns
from benchmarks.decoding.work import DecodingWork
from benchmarks.turns import Turns

take_turns(Turns("Echo 1.0"), lambda texts, beam: texts, DecodingWork.open(Path(sys.argv[1])).sources)
"""
SMALL = ["--windows", "2", "--seconds", "0.05"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model, a corpus and a vocabulary so small that most of the time goes into starting processes."""
    from benchmarks import command, train
    from benchmarks.training import corpus, race, work
    from saccade.models.settings import TransformerSettings

    monkeypatch.delenv("SACCADE_DATA", raising=False)
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2, dropout=0.3)
    for module in (command, work):
        monkeypatch.setattr(module, "SIZES", {"tiny": settings})
    for name, value in {"VOCABULARY": 400, "BATCH_TOKENS": 128, "THREADS": 1}.items():
        monkeypatch.setattr(work, name, value)
    monkeypatch.setattr(corpus, "NUM_GENERATED", 60)
    monkeypatch.setattr(train, "PLAIN", ("everywhere",))
    monkeypatch.setattr(train, "OURS", ("feed-forward",))
    monkeypatch.setattr(race, "SGEMM_SECONDS", 0.05)


def read_table(stdout: str) -> list[list[str]]:
    """The cells of a Markdown table, without its rule."""
    lines = [line.strip("|").split("|") for line in stdout.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in (lines[0], *lines[2:])]


def test_our_training_beside_a_plain_loop(small: None, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from benchmarks.train import main

    main([*SMALL, "--json", str(tmp_path / "figures.json")])
    stdout = capsys.readouterr().out
    columns, *rows = read_table(stdout)
    assert columns == ["", "dropout", "tokens/s", "× plain", "tokens/update", "peak MiB", "× plain", "of sgemm peak"]
    assert [row[:2] for row in rows] == [
        ["plain torch loop", "residual, feed-forward, attention"],
        ["saccade", "residual, feed-forward"],
    ]
    assert rows[0][3] == "1.00 (1.00–1.00)"
    assert rows[0][6] == "1.00"
    assert all(0 < float(row[7].rstrip("%")) < 100 for row in rows)
    assert "torch 2" in stdout
    assert "generated sentences" in stdout
    (figures,) = json.loads((tmp_path / "figures.json").read_text("utf-8"))["sizes"]
    assert [len(contestant["tokens_per_second"]) for contestant in figures["contestants"]] == [2, 2]
    assert all(contestant["peak_mib"] > 50 for contestant in figures["contestants"])
    assert all("epoch_peak_mib" not in contestant for contestant in figures["contestants"])


def test_what_a_trick_gains(small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from benchmarks import tricks

    monkeypatch.setattr(tricks, "TRICKS", {"chunks": tricks.TRICKS["chunks"]})
    tricks.main(["--windows", "1", "--seconds", "0.05"])
    columns, whole, without = read_table(capsys.readouterr().out)
    assert columns == ["without", "tokens/s", "gain of having it", "peak MiB", "memory saved, MiB"]
    assert whole[0] == "(all there)"
    assert without[0] == tricks.TRICKS["chunks"].description


def test_a_file_of_figures_that_exists(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from benchmarks.train import main
    from saccade.errors import OutputExists

    path = tmp_path / "figures.json"
    path.write_text("mine")
    with pytest.raises(OutputExists, match="nothing was measured") as caught:
        main(["--json", str(path)])
    assert str(path) in str(caught.value)
    assert (capsys.readouterr().out, path.read_text()) == ("", "mine")


@pytest.mark.parametrize(("module", "words"), [("train", []), ("decode", ["--model", "none"])])
def test_peers_that_are_not_installed(module: str, words: list[str], tmp_path: Path):
    from benchmarks import decode, train
    from saccade.errors import DataError

    main = {"train": train.main, "decode": decode.main}[module]
    with pytest.raises(DataError, match=r"benchmarks/peers/install\.sh") as caught:
        main([*words, "--peers", str(tmp_path)])
    assert str(tmp_path) in str(caught.value)


def test_a_mistake_ends_with_a_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from benchmarks.command import run_command
    from benchmarks.train import main

    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(SystemExit) as caught:
        run_command(lambda: main([]))
    assert str(caught.value).startswith("error: ")
    assert f"{tmp_path}/multi30k/train.en" in str(caught.value)


@pytest.mark.parametrize("words", [["--size", "huge"], ["--windows", "0"], ["--seconds", "0"], ["--window", "2"]])
def test_wrong_options(words: list[str], capsys: pytest.CaptureFixture[str]):
    from benchmarks.train import main

    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert words[0] in capsys.readouterr().err


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """Peers, one of which returns its input. Its Python has the standard library, annotated-types and nothing else."""
    python, script = tmp_path / "peers/venv/echo/bin/python", tmp_path / "peers/decode/echo.py"
    for path in (python, script):
        path.parent.mkdir(parents=True)
    script.write_text(ECHO)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/annotated_types").symlink_to(Path(annotated_types.__file__).parent)
    path = f'PYTHONPATH="$PYTHONPATH:{tmp_path}/site"'
    python.write_text(f'#!/bin/sh\n{path} exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return tmp_path / "peers"


def test_our_translating_beside_others(
    trained: Path,
    echo: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
):
    from benchmarks.decode import main
    from benchmarks.decoding import race, tables

    monkeypatch.setattr(race, "find_spec", lambda name: None)  # as where there is no torch
    monkeypatch.setattr(race, "SINGLES", 2)
    monkeypatch.setattr(race, "FOR_PEERS", 10)
    figures_file = tmp_path / "figures.json"
    files = {"--model": "run", "--source": "train.en", "--reference": "train.de"}
    words = [word for option, name in files.items() for word in (option, str(trained / name))]
    main([*words, "--sentences", "20", "--windows", "2", "--peers", str(echo), "--json", str(figures_file)])
    stdout = capsys.readouterr().out
    columns, *rows = read_table(stdout)
    assert columns == list(tables.COLUMNS)
    assert [row[0] for row in rows[:5]] == [
        "CTranslate2 by hand, float32",
        "saccade, float32",
        "CTranslate2 by hand, int8",
        "saccade, int8",
        "Echo 1.0, first 10 sentences",
    ]
    assert [row[2] for row in rows[:4:2]] == ["1.00 (1.00–1.00)"] * 2
    assert {row[8] for row in rows[:4]} == {"0.00"}, "two words have no four in a row, whoever translates them"
    assert "### greedy" in stdout
    assert "20 sentences, train.en" in stdout
    contestants = json.loads(figures_file.read_text("utf-8"))["contestants"]
    assert [contestant["beam"] for contestant in contestants] == [5] * 5 + [1] * 5
    assert [contestant["sentences"] for contestant in contestants] == [20, 20, 20, 20, 10] * 2
    assert all(len(contestant["seconds"]) == 2 for contestant in contestants)


def test_a_reference_without_its_source(capsys: pytest.CaptureFixture[str]):
    from benchmarks.decode import main

    with pytest.raises(SystemExit) as caught:
        main(["--model", "none", "--reference", "test.de"])
    assert caught.value.code == 2
    assert "--source" in capsys.readouterr().err
