"""Every kind of model through the same commands: trained, translated with, looked at."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from saccade.cli.main import app

RECIPE = """
run = "run"
[data]
source_language = "en"
target_language = "en"
hold_out = 20
train = [{ file = "pairs.tsv" }]
[tokenizer]
kind = "char"
vocabulary = 16
byte_fallback = false
[model]
preset = "tiny"
[training]
updates = 6
batch_tokens = 300
validate_every = 6
checkpoint_every = 3
average = 2
device = "cpu"
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    numbers = [str(7 * number) for number in range(100, 300)]
    (tmp_path / "pairs.tsv").write_text("".join(f"{text}\t{text[::-1]}\n" for text in numbers), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path / "recipe.toml"


@pytest.mark.parametrize(
    "settings",
    [
        ["model.kind=recurrent"],
        ["model.kind=recurrent", "model.attend=after", "model.attention.positions=local-p"],
        ["model.kind=recurrent", "model.attention.positions=hard"],
        ["model.kind=convolutional"],
        ["model.kind=transformer"],
    ],
    ids=lambda settings: ", ".join(settings),
)
def test_a_kind_is_one_setting(recipe: Path, settings: list[str]):
    runner = CliRunner()
    words = [word for setting in settings for word in ("--set", setting)]
    for command in (
        ["train", str(recipe), "--dry-run", *words],
        ["train", str(recipe), *words],
        ["info", str(recipe.parent / "run")],
    ):
        result = runner.invoke(app, command)
        assert result.exit_code == 0, result.output
    kind = settings[0].partition("=")[2]
    assert f'kind = "{kind}"' in result.output

    result = runner.invoke(app, ["translate", "--model", str(recipe.parent / "run")], input="123\n\n77\n")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 3
    assert result.stdout.splitlines()[1] == ""

    picture = recipe.parent / "attention.svg"
    result = runner.invoke(app, ["view", "--model", str(recipe.parent / "run"), "123", "-o", str(picture)])
    assert result.exit_code == 0, result.output
    assert picture.read_text("utf-8").startswith("<svg")


def test_what_has_no_attention_translates_and_refuses_to_show_any(recipe: Path):
    runner, fixed = CliRunner(), ["--set", "model.kind=recurrent", "--set", "model.attention.positions=fixed"]
    assert runner.invoke(app, ["train", str(recipe), *fixed]).exit_code == 0
    assert runner.invoke(app, ["translate", "--model", str(recipe.parent / "run")], input="12\n").exit_code == 0
    result = runner.invoke(app, ["view", "--model", str(recipe.parent / "run"), "123"])
    assert result.exit_code == 1
    assert "has no attention" in " ".join(result.output.split())


def test_a_setting_of_another_kind_is_named(recipe: Path):
    words = ["train", str(recipe), "--set", "model.kind=recurrent", "--set", "model.norm=pre"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    found = " ".join(result.output.split())
    assert 'model.norm is a setting of kind = "transformer", not of kind = "recurrent".' in found


def test_a_location_score_must_reach_as_far_as_the_data(recipe: Path):
    words = ["model.kind=recurrent", "model.attention.score=location", "model.attention.num_positions=100"]
    result = CliRunner().invoke(app, ["train", str(recipe), *(part for word in words for part in ("--set", word))])
    assert result.exit_code == 1
    assert "model.attention.num_positions must be at least 129" in " ".join(result.output.split())
