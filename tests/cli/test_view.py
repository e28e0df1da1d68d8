"""`saccade view`."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from saccade import settings


def test_the_translation_and_a_plain_picture(saccade, trained: Path):
    ended = saccade("view", "--model", trained / "run", "lion dog")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Löwe Hund\n")
    assert "\x1b" not in ended.stdout, "no colours where nobody watches"
    shown = ended.stdout.splitlines()
    assert shown[1] == "layer 1 of 1, mean of 2 heads"
    for token in ("·Löwe", "·Hund", "</s>"):
        assert any(line.lstrip().startswith(token) for line in shown), ended.stdout


def test_a_known_target_is_not_converted_and_settings_are_read_once(
    saccade, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = Path(shutil.copytree(trained / "run/model", tmp_path / "model"))
    shutil.rmtree(path / "ct2", ignore_errors=True)
    read, opened = settings.read, []
    monkeypatch.setattr(settings, "read", lambda file: (opened.append(file.name), read(file))[1])
    assert saccade("view", "--model", path, "lion dog", "--target", "Löwe Hund").code == 0
    assert not (path / "ct2").exists()
    assert opened == ["settings.toml"]


def test_one_layer_and_head(saccade, trained: Path):
    ended = saccade("view", "-m", trained / "run", "lion dog", "--layer", "1", "--head", "2", "--beam", "1")
    assert ended.code == 0
    assert "layer 1 of 1, head 2 of 2" in ended.stdout


def test_a_picture_in_a_file(saccade, trained: Path, tmp_path: Path):
    picture = tmp_path / "attention.svg"
    ended = saccade("view", "-m", trained / "run", "lion dog", "-o", picture)
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == str(picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert "Löwe" in picture.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "2"], "error: --layer must be from 1 to 1 for this model, not 2.\n"),
        (["--head", "3"], "error: --head must be from 1 to 2 for this model, not 3.\n"),
        (["--kind", "self"], "error: --kind must be one of cross, encoder, decoder for this model, not self.\n"),
    ],
)
def test_a_layer_head_or_kind_that_is_none(options: list[str], message: str, saccade, trained: Path):
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
    ended = saccade("view", "-m", trained / "run", "lion dog", "-o", picture)
    assert ended.code == 1
    assert ended.stderr == (f"error: {picture} exists already. Remove it or name another file; nothing was drawn.\n")
    assert picture.read_text() == "mine"


@pytest.mark.parametrize(("name", "what"), [("a.gif", "ends in .gif"), ("trace", "has no ending")])
def test_an_output_of_an_unknown_ending(name: str, what: str, saccade, tmp_path: Path):
    ended = saccade("view", "-m", tmp_path, "lion dog", "-o", tmp_path / name)
    assert (ended.code, ended.stderr) == (
        1,
        f"error: {tmp_path / name} must end in .svg, .png, .html or .json, which says what is to be written, "
        f"but {what}.\n",
    )


def test_words_instead_of_tokens(saccade, trained: Path):
    ended = saccade("view", "-m", trained / "run", "lion dog", "--words")
    rows = [line.split()[0] for line in ended.stdout.splitlines() if line.split()]
    assert {"Löwe", "Hund", "</s>"} <= set(rows)
    assert "·Löwe" not in ended.stdout


def test_a_stored_trace_is_drawn_without_its_model(saccade, trained: Path, tmp_path: Path):
    stored, picture = tmp_path / "trace.json", tmp_path / "again.svg"
    first = saccade("view", "-m", trained / "run", "lion dog", "--head", "1", "-o", stored)
    assert (first.code, first.stderr) == (0, "")
    table = json.loads(stored.read_text("utf-8"))
    assert (table["format"], table["model"], table["target"]["text"]) == (
        "saccade-attention",
        trained.name,
        "Löwe Hund",
    )
    assert {layer["kind"] for layer in table["layers"]} == {"cross", "encoder", "decoder"}
    again = saccade("view", "--from", stored, "--head", "1", "-o", picture)
    assert (again.code, again.stderr) == (0, "")
    assert again.stdout == first.stdout.replace(str(stored), str(picture))
    assert "Löwe" in picture.read_text("utf-8")


def test_several_translations_are_stored_together(saccade, trained: Path, tmp_path: Path):
    stored = tmp_path / "trace.json"
    ended = saccade("view", "-m", trained / "run", "lion dog", "--n-best", "3", "-o", stored)
    assert ended.code == 0
    tables = json.loads(stored.read_text("utf-8"))
    shown = [line.split("\t") for line in ended.stdout.splitlines()[:3]]
    assert shown == [[f"{table['score']:.4f}", table["target"]["text"]] for table in tables]
    assert shown[0][1] == "Löwe Hund"
    assert len({table["target"]["text"] for table in tables}) == 3
    again = saccade("view", "--from", stored)
    assert again.stdout.splitlines() == ended.stdout.splitlines()[:-1]


def test_a_given_translation_is_looked_at(saccade, trained: Path, tmp_path: Path):
    own, forced, other = (tmp_path / f"{name}.json" for name in ("own", "forced", "other"))
    saccade("view", "-m", trained / "run", "lion dog", "-o", own)
    ended = saccade("view", "-m", trained / "run", "lion dog", "--target", "Löwe Hund", "-o", forced)
    assert (ended.code, ended.stdout.splitlines()[0]) == (0, "Löwe Hund")
    saccade("view", "-m", trained / "run", "lion dog", "--target", "Katze", "-o", other)
    of_own, of_forced, of_other = (json.loads(path.read_text("utf-8")) for path in (own, forced, other))
    assert of_forced["layers"] == of_own["layers"]
    assert of_forced["score"] is None
    assert np.allclose(of_forced["token_log_probs"], of_own["token_log_probs"], atol=1e-5)
    assert of_other["log_prob"] < of_own["log_prob"] - 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["lion dog"],
        ["-m", "run"],
        ["--from", "trace.json", "-m", "run"],
        ["--from", "trace.json", "lion dog"],
        ["-m", "run", "lion dog", "--target", "Hund", "--beam", "2"],
        ["-m", "run", "lion dog", "--grid"],
        ["-m", "run", "lion dog", "--grid", "-o", "page.html"],
        ["-m", "run", "lion dog", "--grid", "--head", "1", "-o", "grid.svg"],
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together(words: list[str], saccade, trained: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(trained)
    ended = saccade("view", *words)
    assert (ended.code, ended.stdout) == (2, "")


def test_what_is_no_trace(saccade, tmp_path: Path):
    (tmp_path / "other.json").write_text("[]")
    ended = saccade("view", "--from", tmp_path / "other.json")
    assert ended.code == 1
    assert ended.stderr == (
        f"error: {tmp_path}/other.json must be a trace that saccade wrote (format saccade-attention), "
        "but it is something else.\n"
    )


def test_the_source_looks_at_itself(saccade, trained: Path, tmp_path: Path):
    picture = tmp_path / "encoder.svg"
    ended = saccade("view", "-m", trained / "run", "lion dog", "--kind", "encoder", "--grid", "-o", picture)
    assert (ended.code, ended.stderr) == (0, "")
    assert "encoder attention, layer 1 of 1, mean of 2 heads" in ended.stdout
    rows = [line.split()[0] for line in ended.stdout.splitlines() if line.split()]
    assert "·lion" in rows
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_a_picture_in_pixels(saccade, trained: Path, tmp_path: Path, only_dejavu):
    picture = tmp_path / "attention.png"
    assert saccade("view", "-m", trained / "run", "lion dog", "-o", picture).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_in_pixels_without_any_font(saccade, trained: Path, tmp_path: Path, no_fonts):
    svg, png = tmp_path / "attention.svg", tmp_path / "attention.png"
    ended = saccade("view", "-m", trained / "run", "lion dog", "-o", svg, "-o", png)
    assert ended.code == 1
    assert "apt-get install fonts-noto-core" in ended.stderr
    assert (svg.exists(), png.exists()) == (True, False)


def test_a_page(saccade, trained: Path, tmp_path: Path):
    path = tmp_path / "attention.html"
    assert saccade("view", "-m", trained / "run", "lion dog", "--n-best", "2", "-o", path).code == 0
    assert "<!doctype html>" in path.read_text("utf-8").lower()
