"""Every recipe that comes with saccade loads, and one of text pairs names its data below $SACCADE_DATA."""

from pathlib import Path

import pytest

from saccade import Recipe
from saccade.errors import SettingsError
from saccade.tasks.captioning.settings import CaptionsSettings
from saccade.tasks.translation.settings import TranslationRecipe

ROOT = Path(__file__).parent.parent
RECIPES = sorted((ROOT / "recipes").glob("**/*.toml"))


def test_there_are_recipes() -> None:
    assert RECIPES


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_loads(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    loaded = Recipe.load(path)
    for file in _files(loaded):
        assert file.is_relative_to(tmp_path)
    assert loaded.run == ROOT / "recipes" / ".." / "runs" / path.stem


def _files(loaded: Recipe) -> list[Path]:
    if isinstance(loaded, TranslationRecipe):
        corpora = [*loaded.data.train, *loaded.data.valid]
        return [file for corpus in corpora for file in corpus.paths]
    if isinstance(loaded.task, CaptionsSettings):
        return [loaded.task.images, loaded.task.train, loaded.task.valid, loaded.task.network]
    return []


STARTER = 'run = "run"\n[data]\nsource_language = "en"\ntarget_language = "de"\ntrain = [{ file = "a.tsv" }]\n'


def test_paths_typed_on_the_command_line_start_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/r.toml").write_text(STARTER)
    monkeypatch.chdir(tmp_path)
    loaded = Recipe.load(Path("recipes/r.toml"), ["run=other", "training.warm_start=model"])
    assert (loaded.run, loaded.training.warm_start) == (tmp_path / "other", tmp_path / "model")
    assert loaded.data.train[0].file == tmp_path / "recipes/a.tsv"


def test_every_problem_of_a_recipe_is_reported_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(STARTER + '[model]\nkind = "recurrent"\ncell = "foo"\ndropout = 1.5\n[training]\nupdates = -3\n')
    with pytest.raises(SettingsError) as caught:
        Recipe.load(path, ["training.learning_rate=inf", "search.beam=1000000000000", "data.hold_out=-3"])
    assert sorted(problem.partition(" ")[0] for problem in caught.value.problems) == [
        "data.hold_out",
        "model.cell",
        "model.dropout",
        "search.beam",
        "training.learning_rate",
        "training.updates",
    ]
