"""`saccade demo`, with task and training cut short; tests/end_to_end/test_demo.py runs the whole of it."""

import re
from pathlib import Path

import pytest


def test_it_trains_scores_translates_and_draws(saccade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from saccade.demo import demo

    monkeypatch.setattr(demo, "NUM_TRAIN", 200)
    monkeypatch.setattr(demo, "NUM_VALID", 10)
    monkeypatch.setattr(demo, "NUM_TEST", 20)
    short = {"updates": 3, "batch_tokens": 256, "validate_every": 3, "checkpoint_every": 3}
    recipe = demo.RECIPE.replace("d_model = 64", "d_model = 16")
    for name, value in short.items():
        recipe = re.sub(rf"^{name} = \d+", f"{name} = {value}", recipe, flags=re.MULTILINE)
    monkeypatch.setattr(demo, "RECIPE", recipe.replace("beam = 4", "beam = 1"))

    ended = saccade("demo", "--directory", tmp_path / "demo")
    assert ended.code == 0, ended.stderr
    assert re.search(r"^Held-out dates: \d+ of 20 right", ended.stdout, re.MULTILINE)
    assert "A handful, none of these dates seen in training:" in ended.stdout
    assert f"model    {tmp_path}/demo/model\npicture  {tmp_path}/demo/attention.svg\n" in ended.stdout
    assert (tmp_path / "demo/attention.svg").is_file()


def test_a_directory_of_something_else_is_left_alone(saccade, tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("mine")
    ended = saccade("demo", "--directory", tmp_path)
    assert ended.code == 1
    assert str(tmp_path) in ended.stderr
    assert "--directory" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
