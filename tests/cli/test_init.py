"""`saccade init`."""

from pathlib import Path

import pytest

from saccade import Recipe, settings
from saccade.tasks.translation.settings import TranslationRecipe


def test_the_recipe_loads_and_names_the_files(saccade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    ended = saccade("init", "new", "--source", "memory.en", "--target", "memory.zh", "--from", "en", "--to", "zh")
    assert (ended.code, ended.stdout) == (0, "new/recipe.toml\n")
    assert ended.stderr == "Look it over, then: saccade train new/recipe.toml --dry-run\n"
    made = Recipe.load(Path("new/recipe.toml"))
    assert (made.data.source_language, made.data.target_language) == ("en", "zh")
    assert made.run == tmp_path / "new" / "run"
    (corpus,) = made.data.train
    assert (corpus.source, corpus.target) == (tmp_path / "memory.en", tmp_path / "memory.zh")


def test_one_file_with_an_awkward_name(saccade, tmp_path: Path):
    awkward = tmp_path / 'my "memory" $HOME.tsv'
    assert saccade("init", tmp_path, "--file", awkward).code == 0
    assert Recipe.load(tmp_path / "recipe.toml").data.train[0].file == awkward


def test_without_files_the_recipe_names_the_ones_to_put_beside_it(saccade, tmp_path: Path):
    saccade("init", tmp_path / "new", "--from", "fr", "--to", "es")
    (corpus,) = Recipe.load(tmp_path / "new/recipe.toml").data.train
    assert (corpus.source, corpus.target) == (tmp_path / "new/train.fr", tmp_path / "new/train.es")


def test_what_it_writes_out_are_the_defaults_or_chosen(saccade, tmp_path: Path):
    """A default that changes must change here, too."""
    saccade("init", tmp_path)
    made = Recipe.load(tmp_path / "recipe.toml")
    bare = settings.parse(
        TranslationRecipe, {"run": "run", "data": settings.table(made.data)}, origin="", base=tmp_path
    )
    changed = [line.partition(":")[0] for line in settings.differences(bare, made)]
    assert [name for name in changed if not name.startswith(("model.", "training."))] == []


def test_an_existing_recipe_is_refused_and_kept(saccade, tmp_path: Path):
    (tmp_path / "recipe.toml").write_text("mine")
    ended = saccade("init", tmp_path)
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"error: {tmp_path}/recipe.toml exists already. Edit it, or name another directory; nothing was written.\n"
    )
    assert (tmp_path / "recipe.toml").read_text() == "mine"


@pytest.mark.parametrize(
    "options", [["--source", "a"], ["--target", "b"], ["--source", "a", "--target", "b", "--file", "c"]]
)
def test_half_a_corpus_is_wrong_usage(options: list[str], saccade, tmp_path: Path):
    ended = saccade("init", tmp_path / "new", *options)
    assert ended.code == 2
    assert "give --source and --target together, or --file alone" in ended.stderr
    assert not (tmp_path / "new").exists()
