"""`saccade init`."""

from pathlib import Path

import pytest

from saccade import Recipe, settings
from saccade.tasks.translation.settings import TranslationRecipe


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for language, words in (("en", "the {} of day {} is red"), ("zh", "第{}天的{}是红色的")):
        lines = (words.format(number % 90, number // 9) + "\n" for number in range(450))
        (tmp_path / f"memory.{language}").write_text("".join(lines), "utf-8")
    return tmp_path


FILES = ("--source", "memory.en", "--target", "memory.zh")


def test_the_recipe_loads_and_names_the_files(saccade, memory: Path):
    ended = saccade("init", "new", *FILES)
    assert (ended.code, ended.stdout) == (0, "new/recipe.toml\n")
    assert "450 pairs" in ended.stderr
    assert "saccade train new/recipe.toml --dry-run" in ended.stderr
    made = Recipe.load(Path("new/recipe.toml"))
    assert (made.data.source_language, made.data.target_language) == ("en", "zh")
    assert made.run == memory / "new" / "run"
    (corpus,) = made.data.train
    assert [path.resolve() for path in corpus.paths] == [memory / "memory.en", memory / "memory.zh"]


def test_a_dry_run_accepts_it(saccade, memory: Path):
    """450 pairs were too few once, and 6,667 epochs."""
    assert saccade("init", "new", *FILES).code == 0
    ended = saccade("train", "new/recipe.toml", "--dry-run")
    assert ended.code == 0
    epochs = float(ended.stdout.partition("about ")[2].partition(" epochs")[0])
    assert epochs <= 150


def test_time_is_a_budget(saccade, memory: Path):
    for minutes, name in (("1", "short"), ("60", "long")):
        assert saccade("init", name, *FILES, "--minutes", minutes).code == 0
    short, long = (Recipe.load(Path(name, "recipe.toml")).training.updates for name in ("short", "long"))
    assert short <= long
    assert saccade("init", "none", *FILES, "--minutes", "0").code == 2


def test_one_file_with_an_awkward_name(saccade, memory: Path):
    awkward = memory / 'my "memory" $HOME.tsv'
    awkward.write_text("a\tb\n" * 30)
    assert saccade("init", ".", "--file", awkward, "--from", "en", "--to", "de").code == 0
    assert Recipe.load(memory / "recipe.toml").data.train[0].file == awkward


def test_what_it_writes_out_are_the_defaults_or_chosen(saccade, memory: Path):
    """A default that changes must change here, too."""
    saccade("init", ".", *FILES)
    made = Recipe.load(memory / "recipe.toml")
    bare = settings.parse(TranslationRecipe, {"run": "run", "data": settings.table(made.data)}, origin="", base=memory)
    changed = [change.path for change in settings.differences(bare, made)]
    assert {name for name in changed if not name.startswith(("model.", "training."))} == {
        "tokenizer.vocabulary",
        "tokenizer.character_coverage",
    }


def test_an_existing_recipe_is_refused_and_kept(saccade, memory: Path):
    (memory / "recipe.toml").write_text("mine")
    ended = saccade("init", memory, *FILES)
    assert (ended.code, ended.stdout) == (1, "")
    assert f"{memory}/recipe.toml exists already" in ended.stderr
    assert (memory / "recipe.toml").read_text() == "mine"


@pytest.mark.parametrize(
    "options", [[], ["--source", "a"], ["--target", "b"], ["--source", "a", "--target", "b", "--file", "c"]]
)
def test_half_a_corpus_is_wrong_usage(options: list[str], saccade, tmp_path: Path):
    ended = saccade("init", tmp_path / "new", *options)
    assert ended.code == 2
    assert "give --source and --target together, or --file alone" in ended.stderr
    assert not (tmp_path / "new").exists()
