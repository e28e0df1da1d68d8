"""`saccade clean`: what is left out of a memory, why, and that nothing of it is lost."""

import gzip
import math
import os
from pathlib import Path

import pytest

import saccade as door
from saccade.data.corpus import REASONS

PAIRS = [
    ("lion fox", "Löwe Fuchs"),
    ("lion  fox", "Löwe Fuchs"),  # the same when blanks are brought into one form
    ("", "Biene"),
    ("cat", "cat"),
    ("a dog that barks at every cat", "Hund"),
    ("bee ant", "пчела"),
    ("12 : 30", "12.30"),
    ("dog dog", "Hund Hund"),
    ("Lion fox", "Löwe Fuchs"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), "utf-8")
    return path


def rows(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text("utf-8").splitlines()]


def test_every_pair_is_kept_or_rejected_with_its_reason(memory: Path, tmp_path: Path):
    report = door.clean(
        memory,
        tmp_path / "kept.tsv",
        rejected=tmp_path / "rejected.tsv",
        overrides=["max_ratio=5"],
        languages=("en", None),
    )
    kept, rejected = rows(tmp_path / "kept.tsv"), rows(tmp_path / "rejected.tsv")
    assert kept == [PAIRS[0], PAIRS[5], PAIRS[7], PAIRS[8]]
    reasons = ["duplicate", "empty", "copy", "ratio", "script"]
    assert rejected == [(REASONS[reason], *PAIRS[row]) for reason, row in zip(reasons, (1, 2, 3, 4, 6), strict=True)]
    assert (report.read, report.kept, report.dropped.keys()) == (9, 4, set(reasons))
    assert report.dropped["ratio"].place == "memory.tsv:5"


def test_the_script_of_either_language_is_asked_for_only_if_it_is_named(memory: Path, tmp_path: Path):
    assert door.clean(memory, tmp_path / "a.tsv", overrides=["max_ratio=5"]).kept == 5
    assert door.clean(memory, tmp_path / "b.tsv", overrides=["max_ratio=5"], languages=(None, "de")).kept == 3
    assert door.clean(memory, tmp_path / "c.tsv", overrides=["max_ratio=5"], languages=(None, "ru")).kept == 1


def test_settings_of_a_recipe_can_be_overridden(memory: Path, tmp_path: Path):
    report = door.clean(memory, tmp_path / "a.tsv", overrides=["drop_copies=false", "deduplicate=false"])
    assert report.dropped.keys() == {"empty"}
    with pytest.raises(door.SettingsError, match="max_ration is not a setting, did you mean max_ratio"):
        door.clean(memory, tmp_path / "b.tsv", overrides=["max_ration=2"])


def test_two_files_and_compression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("saccade.cleaner.BLOCK", 2)
    (tmp_path / "a.en").write_text("a\tb\nc\nd\n", "utf-8")
    (tmp_path / "a.de").write_text("x\ny\nz\n", "utf-8")
    door.clean([tmp_path / "a.en", tmp_path / "a.de"], tmp_path / "kept.tsv.gz")
    assert gzip.decompress((tmp_path / "kept.tsv.gz").read_bytes()).decode() == "a b\tx\nc\ty\nd\tz\n"


@pytest.mark.parametrize(("least", "worst", "left"), [(-math.inf, 0.5, 2), (-1.0, 0.0, 2), (-math.inf, 0.0, 4)])
def test_pairs_that_a_model_finds_unlikely(trained: Path, tmp_path: Path, least: float, worst: float, left: int):
    pairs = [("lion fox", "Löwe Fuchs"), ("bee ant", "Hund Katze"), ("dog dog", "Hund Hund"), ("cat", "Fuchs")]
    memory = tmp_path / "memory.tsv"
    memory.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    limit = door.ScoreFilter(door.load(trained / "run"), least, worst)
    report = door.clean(memory, tmp_path / "kept.tsv", score_filter=limit)
    assert rows(tmp_path / "kept.tsv") == ([pairs[0], pairs[2]] if left == 2 else pairs)
    assert report.kept == left


def test_the_command_tells_what_it_left_out(saccade, trained: Path, memory: Path, tmp_path: Path):
    words = ["clean", memory, "-o", tmp_path / "kept.tsv", "--rejected", tmp_path / "rejected.tsv"]
    ended = saccade(
        *words, "--from", "en", "--to", "de", "-m", trained / "run", "--worst", "0.3", "--set", "max_ratio=5"
    )
    assert (ended.code, ended.stdout) == (0, "")
    assert "the target repeats the source" in ended.stderr
    assert "memory.tsv:4: cat → cat" in ended.stderr
    assert f"3 of 9 pairs are in {tmp_path / 'kept.tsv'}" in ended.stderr.replace("\n", "")
    before = (tmp_path / "kept.tsv").read_bytes()
    again = saccade(*words)
    assert (again.code, (tmp_path / "kept.tsv").read_bytes()) == (1, before)
    assert "kept.tsv exists already" in again.stderr


@pytest.mark.parametrize("words", [["--worst", "0.1"], ["--min-score", "-3"], ["--model", "run"]])
def test_a_model_and_its_limits_go_together(saccade, memory: Path, tmp_path: Path, words: list[str]):
    ended = saccade("clean", memory, "-o", tmp_path / "kept.tsv", *words)
    assert ended.code == 2
    assert "--model goes with --min-score or --worst" in " ".join(ended.stderr.split()).replace("│ ", "")


def test_what_cannot_be_cleaned_is_refused(memory: Path, tmp_path: Path):
    with pytest.raises(door.DataError, match="one TSV file, or a source file and its translation, not"):
        door.clean([memory, memory], tmp_path / "kept.tsv")
    with pytest.raises(door.DataError, match="must exist, but it does not"):
        door.clean(tmp_path / "none.tsv", tmp_path / "kept.tsv")
    with pytest.raises(door.DataError, match="worst must be a share of the pairs"):
        door.ScoreFilter(None, worst=1.0)  # type: ignore[arg-type]
    with pytest.raises(door.SettingsError, match="`klingon` is not a language code"):
        door.clean(memory, tmp_path / "kept.tsv", languages=("klingon", None))
    memory.write_text("a\tb\nno tab\n", "utf-8")
    with pytest.raises(door.DataError, match="line 2 has no tab"):
        door.clean(memory, tmp_path / "kept.tsv", rejected=tmp_path / "rejected.tsv")
    assert [path.name for path in tmp_path.iterdir()] == ["memory.tsv"], "nothing is left behind"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused_before_it_is_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(door.DataError, match="is a pipe"):
        door.clean(tmp_path / "pipe", tmp_path / "kept.tsv")
