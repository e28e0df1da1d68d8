"""`saccade info`."""

import tomllib
from pathlib import Path


def test_it_is_toml_that_says_what_the_model_is(saccade, trained: Path):
    ended = saccade("info", trained / "run")
    assert (ended.code, ended.stderr) == (0, "")
    facts = tomllib.loads(ended.stdout)
    assert facts["path"] == str(trained / "run" / "model")
    assert facts["directions"] == [{"source": "en", "target": "de", "tag": ""}]
    assert facts["source_vocabulary"] == facts["target_vocabulary"] <= 200
    assert facts["shares_vocabulary"] is True
    assert facts["num_parameters"] > 1000
    assert facts["model"]["d_model"] == 32
    assert len(facts["sha256"]) == 64


def test_data_and_scores_follow(saccade, trained: Path):
    stdout = saccade("info", trained / "run" / "model").stdout
    assert "# - train.en and train.de\n" in stdout
    assert "# On the validation set: BLEU " in stdout


def test_a_run_and_its_model_are_the_same(saccade, trained: Path):
    assert saccade("info", trained / "run") == saccade("info", trained / "run" / "model")
