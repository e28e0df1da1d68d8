"""What a run may go on with, and what it may not."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.training import toy

from saccade import settings
from saccade.data.settings import CorpusSettings
from saccade.errors import SettingsError
from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
from saccade.training.checkpoint import Progress
from saccade.training.run import Metrics, Run


@pytest.fixture
def recipe(tmp_path: Path) -> TranslationRecipe:
    return TranslationRecipe(
        run=tmp_path / "run",
        data=toy.data(tmp_path),
        tokenizer=toy.TOKENIZER,
        model=toy.MODEL,
        training=toy.TRAINING,
    )


def started(recipe: TranslationRecipe) -> None:
    """A run that has come to its first checkpoint."""
    (Run.open(recipe).checkpoints / "update-00000006").mkdir(parents=True)


def changed(recipe: TranslationRecipe, section: str, **changes: object) -> TranslationRecipe:
    return replace(recipe, **{section: replace(getattr(recipe, section), **changes)})


def test_the_recipe_is_kept_with_the_run(recipe: TranslationRecipe):
    Run.open(recipe)
    assert settings.load(TranslationRecipe, recipe.run / "recipe.toml") == recipe
    assert Run.open(recipe).recipe == recipe


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("training", {"updates": 99, "patience": 3, "validate_every": 2}),
        (
            "training",
            {
                "checkpoint_every": 1,
                "keep": 9,
                "keep_best": 0,
                "keep_every": 2,
                "average": 0,
                "log_every": 1,
                "tensorboard": True,
            },
        ),
        ("training", {"validation_beam": 4, "validation_sentences": 7, "device": "auto", "threads": 1}),
        ("search", {"beam": 7, "length_penalty": 0.6}),
    ],
)
def test_what_does_not_alter_the_updates_so_far_may_change(
    recipe: TranslationRecipe, section: str, changes: dict[str, object]
):
    started(recipe)
    other = changed(recipe, section, **changes)
    assert Run.open(other).recipe == other
    assert settings.load(TranslationRecipe, recipe.run / "recipe.toml") == other


@pytest.mark.parametrize(
    ("section", "changes", "named"),
    [
        ("training", {"seed": 2}, "training.seed: 1 -> 2"),
        ("training", {"batch_tokens": 99}, "training.batch_tokens: 160 -> 99"),
        ("training", {"learning_rate": None}, "training.learning_rate: 0.01 -> not set"),
        ("training", {"best_by": "loss"}, 'training.best_by: "quality" -> "loss"'),
        ("training", {"accumulate": 2}, "training.accumulate: 1 -> 2"),
        ("model", {"d_model": 32}, "model.d_model: 16 -> 32"),
        ("tokenizer", {"vocabulary": 11}, "tokenizer.vocabulary: 12 -> 11"),
        ("data", {"max_tokens": 9}, "data.max_tokens: 128 -> 9"),
        (
            "data",
            {"valid": (CorpusSettings(file=Path("/v.tsv")),)},
            'data.valid[0]: not set -> { file = "/v.tsv" }',
        ),
    ],
)
def test_what_alters_them_is_refused_by_name(
    recipe: TranslationRecipe, section: str, changes: dict[str, object], named: str
):
    started(recipe)
    with pytest.raises(SettingsError, match="was started with other settings") as refused:
        Run.open(changed(recipe, section, **changes))
    assert refused.value.problems == [named]
    assert settings.load(TranslationRecipe, recipe.run / "recipe.toml") == recipe, "the run keeps its own recipe"


def test_anything_may_change_before_the_first_checkpoint(recipe: TranslationRecipe):
    Run.open(recipe)
    other = changed(recipe, "training", seed=2)
    Run.open(other)
    assert settings.load(TranslationRecipe, recipe.run / "recipe.toml") == other


def test_every_refused_change_is_named_at_once(recipe: TranslationRecipe):
    started(recipe)
    other = changed(changed(recipe, "training", seed=2, updates=7), "model", num_heads=4)
    with pytest.raises(SettingsError) as refused:
        Run.open(other)
    assert refused.value.problems == ["model.num_heads: 2 -> 4", "training.seed: 1 -> 2"]


def test_metrics_of_updates_to_be_done_again_are_forgotten(tmp_path: Path):
    metrics = Metrics(tmp_path, Progress("abc"), tensorboard=False)
    for update in (2, 4, 6):
        metrics.log(update, loss=1 / update)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"update": 4, "lo')  # the machine went out while it was written
    again = Metrics(tmp_path, Progress("abc", update=4), tensorboard=False)
    again.log(6, loss=0.5)
    assert toy.metrics(tmp_path) == [
        {"update": 2, "loss": 0.5},
        {"update": 4, "loss": 0.25},
        {"update": 6, "loss": 0.5},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


@pytest.mark.parametrize("validated", [2, 4])
def test_a_validation_to_be_done_again_is_forgotten(validated: int, tmp_path: Path):
    """At the end of a run the checkpoint of an update may be written before the update is validated."""
    metrics = Metrics(tmp_path, Progress("abc"), tensorboard=False)
    for update in (2, 4):
        metrics.log(update, loss=0.5)
        metrics.log(update, valid_loss=0.5)
    Metrics(tmp_path, Progress("abc", update=4, validated=validated), tensorboard=False)
    assert [line["update"] for line in toy.metrics(tmp_path) if "valid_loss" in line] == [2, 4][: validated // 2]
    assert [line["update"] for line in toy.metrics(tmp_path) if "loss" in line] == [2, 4]


@pytest.mark.parametrize("torn", [b'{"update": 4, "loss": 1}', b"\0\0\0\n", b"\xff\n", b"7\n", b"{}\n"])
def test_a_torn_line_is_forgotten(torn: bytes, tmp_path: Path):
    """What a power cut may leave; the first has lost its end only, and would run into the next."""
    Metrics(tmp_path, Progress("abc"), tensorboard=False).log(2, loss=0.5)
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(torn)
    Metrics(tmp_path, Progress("abc", update=4), tensorboard=False).log(6, loss=0.5)
    assert [line["update"] for line in toy.metrics(tmp_path)] == [2, 6]


def test_metrics_are_also_written_for_tensorboard(tmp_path: Path):
    metrics = Metrics(tmp_path, Progress("abc"), tensorboard=True)
    metrics.log(2, loss=0.5)
    metrics.close()
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"loss" in events.read_bytes()


def test_a_rate_that_falls_in_a_line_binds_the_number_of_updates(recipe: TranslationRecipe):
    falling = changed(recipe, "training", schedule="linear")
    started(falling)
    with pytest.raises(SettingsError, match=r"training\.updates"):
        Run.open(changed(falling, "training", updates=99))


def test_a_trapezoid_binds_the_number_of_updates_once_its_rate_falls(recipe: TranslationRecipe):
    falling = changed(recipe, "training", schedule="trapezoidal", updates=10)  # falls after update 8
    started(falling)
    with pytest.raises(SettingsError, match=r"training\.updates"):
        Run.open(changed(falling, "training", updates=6))  # would have fallen after update 5
    longer = changed(falling, "training", updates=99)
    assert Run.open(longer).recipe == longer


def test_what_was_lost_between_two_names_comes_back_and_drafts_go(recipe: TranslationRecipe):
    """Killed after the old directory had stepped aside and before the new one took its place."""
    path = Run.open(recipe).path
    (path / ".model.0a1b2c3d4e5f.saccade-old").mkdir()
    (path / ".model.0a1b2c3d4e5f.saccade-old" / "settings.toml").write_text("old", encoding="utf-8")
    (path / ".model.1a1b2c3d4e5f.saccade-draft").mkdir()
    (path / "checkpoints" / ".update-00000020.0a1b2c3d4e5f.saccade-draft").mkdir(parents=True)
    (path / "checkpoints" / ".update-00000010.0a1b2c3d4e5f.saccade-old").mkdir()
    (path / ".recipe.toml.0a1b2c3d4e5f.saccade-draft").write_text("half", encoding="utf-8")
    Run.open(recipe)
    assert sorted(entry.name for entry in path.iterdir()) == ["checkpoints", "model", "recipe.toml"]
    assert [entry.name for entry in (path / "checkpoints").iterdir()] == ["update-00000010"]
    assert (path / "model" / "settings.toml").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"keep_every": 1500}, "keep_every must be 0 or a multiple of checkpoint_every, which is 1000, not 1500"),
        ({"keep_best": -1}, "keep_best must be at least 0, not -1"),
    ],
)
def test_what_to_keep_must_be_possible(broken: dict[str, int], message: str):
    with pytest.raises(ValueError, match=f"^{message}$"):
        TranslationTrainingSettings(**broken)
