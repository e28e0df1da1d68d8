"""Every recipe that comes with saccade loads, and one of text pairs names its data below $SACCADE_DATA."""

from pathlib import Path

import pytest

from saccade import recipe

ROOT = Path(__file__).parent.parent
RECIPES = sorted((ROOT / "recipes").glob("**/*.toml"))


def test_there_are_recipes() -> None:
    assert RECIPES


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_loads(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    loaded = recipe.load_any(path)
    if isinstance(loaded, recipe.Recipe):
        corpora = [*loaded.data.train, *([loaded.data.valid] if loaded.data.valid else [])]
        for file in (file for corpus in corpora for file in corpus.paths):
            assert file.is_relative_to(tmp_path)
    assert loaded.run == ROOT / "recipes" / ".." / "runs" / path.stem
