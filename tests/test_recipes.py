"""Every recipe that comes with saccade loads, and one of text pairs names its data below $SACCADE_DATA."""

from pathlib import Path

import pytest

from saccade import Recipe
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
        corpora = [*loaded.data.train, *([loaded.data.valid] if loaded.data.valid else [])]
        return [file for corpus in corpora for file in corpus.paths]
    if isinstance(loaded.task, CaptionsSettings):
        return [loaded.task.images, loaded.task.train, loaded.task.valid, loaded.task.network]
    return []
