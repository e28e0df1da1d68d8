"""`saccade view`."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest


def test_the_translation_and_a_plain_picture(saccade, trained: Path):
    ended = saccade("view", "--model", trained / "run", "lion dog")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Löwe Hund\n")
    assert "\x1b" not in ended.stdout, "no colours where nobody watches"
    shown = ended.stdout.splitlines()
    assert shown[1] == "layer 1 of 1, mean of 2 heads"
    for token in ("·Löwe", "·Hund", "</s>"):
        assert any(line.lstrip().startswith(token) for line in shown), ended.stdout


def test_one_layer_and_head(saccade, trained: Path):
    ended = saccade("view", "-m", trained / "run", "lion dog", "--layer", "1", "--head", "2", "--beam", "1")
    assert ended.code == 0
    assert "layer 1 of 1, head 2 of 2" in ended.stdout


def test_a_picture_in_a_file(saccade, trained: Path, tmp_path: Path):
    picture = tmp_path / "attention.svg"
    ended = saccade("view", "-m", trained / "run", "lion dog", "--svg", picture)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == str(picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert "Löwe" in picture.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "2"], "error: --layer must be from 1 to 1 for this model, not 2.\n"),
        (["--head", "3"], "error: --head must be from 1 to 2 for this model, not 3.\n"),
    ],
)
def test_a_layer_or_head_that_is_none(options: list[str], message: str, saccade, trained: Path):
    ended = saccade("view", "-m", trained / "run", "lion dog", *options)
    assert (ended.code, ended.stderr) == (1, message)


def test_layers_are_counted_from_one(saccade, trained: Path):
    assert saccade("view", "-m", trained / "run", "lion dog", "--layer", "0").code == 2


def test_a_blank_text(saccade, trained: Path):
    ended = saccade("view", "-m", trained / "run", " ")
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == "error: A text to look at must have at least one token, but this one is blank.\n"


def test_an_existing_picture_is_kept(saccade, trained: Path, tmp_path: Path):
    picture = tmp_path / "attention.svg"
    picture.write_text("mine")
    ended = saccade("view", "-m", trained / "run", "lion dog", "--svg", picture)
    assert ended.code == 1
    assert ended.stderr == (f"error: {picture} exists already. Remove it or name another file; nothing was drawn.\n")
    assert picture.read_text() == "mine"
