"""A model is tuned, resumed, tuned again, and reported on, with both sets before and after."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file
from tests.training import toy
from tests.training.toy import Crash, crash
from tests.tuning.conftest import Task

import saccade
from saccade import TuningReporter, TuningResult
from saccade.data.near_duplicates import NEAR, similarity, trigrams
from saccade.directory import ModelDirectory, write_card
from saccade.errors import ModelError
from saccade.tasks.translation.settings import TranslationRecipe
from saccade.training.checkpoint import Progress
from saccade.tuning.split import Split


class Watcher(TuningReporter):
    """Notes what it is told, and may do something at an update."""

    def __init__(self, at: int = 0, act: Any = None) -> None:
        self.at, self.act = at, act
        self.heard: list[str] = []
        self.recipe: TranslationRecipe | None = None

    def planned(self, recipe: TranslationRecipe, split: Split) -> None:
        self.recipe, self.split = recipe, split

    def updated(self, progress: Progress, loss: float, rate: float) -> None:
        self.heard.append("update")
        if progress.update == self.at:
            self.act()

    def translating(self, system: str, total: int) -> None:
        self.heard.append(f"{system} {total}")


@pytest.fixture(scope="module")
def tuned(task: Task, quick: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuningResult, Watcher]:
    output, watcher = tmp_path_factory.mktemp("tuned") / "tuned", Watcher()
    overrides = [*quick, "training.learning_rate=0.01", "training.start_share=0.1"]
    result = saccade.tune(task.base, task.memory, output, general=task.general, overrides=overrides, reporter=watcher)
    return output, result, watcher


def test_in_domain_it_is_better(tuned: tuple[Path, TuningResult, Watcher]):
    output, result, watcher = tuned
    assert result.after["in-domain"] > result.before["in-domain"] + 5
    assert result.evaluations["in-domain"].comparison.scores["tuned"][0].p_value < 0.05
    assert set(result.before) == {"in-domain", "general"}
    assert not result.interrupted
    assert result.model == output / "model"
    translations = result.evaluations["in-domain"].submissions["tuned"].translations
    sources = [pair.source for pair in Split.read(output / "data").test]
    assert [each.text for each in saccade.load(output).translate(sources)] == list(translations)
    assert watcher.heard.count("update") == 24
    assert watcher.heard[-4:] == ["backwards 40", "tuned 40", "backwards 60", "tuned 60"]


def test_what_is_measured_was_not_learned(tuned: tuple[Path, TuningResult, Watcher], task: Task):
    split = Split.read(tuned[0] / "data")
    learned = [trigrams(pair.source) for pair in split.train]
    for pair in (*split.valid, *split.test):
        assert max(similarity(trigrams(pair.source), each) for each in learned) < NEAR
    assert 55 <= len(split.valid) + len(split.test) <= 60
    assert 210 <= len(split.train) <= 240
    assert len(split.general) == 60


def test_the_recipe_is_an_ordinary_one(tuned: tuple[Path, TuningResult, Watcher], task: Task):
    """With a warm start, which `saccade train` could resume."""
    recipe = saccade.Recipe.load(tuned[0] / "recipe.toml")
    assert isinstance(recipe, TranslationRecipe)
    base = ModelDirectory.open(task.base)
    assert recipe.training.warm_start == base.path
    assert (recipe.model, recipe.search) == (base.description.model, base.description.search)
    assert (recipe.training.learning_rate, recipe.training.start_share) == (0.01, 0.1)
    assert saccade.train(tuned[0] / "recipe.toml").update == 24


def test_the_report_has_both_sets(tuned: tuple[Path, TuningResult, Watcher]):
    output, result, _ = tuned
    assert result.report == output / "report.html"
    page = result.report.read_text("utf-8")
    for name, evaluation in result.evaluations.items():
        section = re.search(f'<section id="section-{name}">(.*?)</section>', page, re.DOTALL)
        assert section is not None
        for scores in evaluation.comparison.scores.values():
            for score in scores:
                assert f"<b>{score.value:.2f}</b> ± {score.interval.margin:.2f}" in section[1]
                assert score.p_value is None or f"p = {score.p_value:.4f}" in section[1]
        for changes in ("gains", "losses"):
            assert f'<section id="section-{name}-{changes}-1">' in page
    scores = json.loads((output / "scores.json").read_text("utf-8"))
    assert scores["general"]["systems"][0]["scores"][0]["value"] == result.before["general"]


def test_the_card_names_base_licence_and_memory(tuned: tuple[Path, TuningResult, Watcher], task: Task):
    output, result, _ = tuned
    card = (output / "model" / "card.md").read_text("utf-8")
    assert card.startswith("# en → de, transformer, tuned\n")
    assert f"{len(Split.read(output / 'data').train)} pairs of memory.en-de.tsv." in card
    assert f"backwards, sha256 {ModelDirectory.open(task.base).checksum()}." in card
    assert "Its licence binds this model, too: “Licence: CC BY 4.0”." in card
    assert "> - train.tsv\n" in card
    assert f"| general | BLEU | {result.before['general']:.2f} | {result.after['general']:.2f} |" in card
    assert saccade.describe_model(output)["card"] == card


@pytest.mark.parametrize("extra", [[], ["training.lora.rank=4", "training.lora.merged=false"]], ids=["whole", "lora"])
def test_killed_and_resumed_is_uninterrupted(extra: list[str], task: Task, quick: list[str], tmp_path: Path):
    """Killed before and after the first checkpoint; files may have moved meanwhile."""
    moved = tmp_path / "moved.tsv"
    shutil.copy(task.memory, moved)
    given: dict[str, Any] = {"general": task.general, "replay": task.train, "overrides": [*quick, *extra]}
    for at, memory in ((4, task.memory), (13, moved)):
        with pytest.raises(Crash):
            saccade.tune(task.base, memory, tmp_path / "b" / "tuned", reporter=Watcher(at, crash), **given)
    found = [saccade.tune(task.base, task.memory, tmp_path / run / "tuned", **given) for run in ("a", "b")]
    for name in ("model", "checkpoints/update-00000024"):
        one, other = (tmp_path / run / "tuned" / name for run in ("a", "b"))
        for file in one.glob("*.safetensors"):
            assert toy.bits(load_file(file)) == toy.bits(load_file(other / file.name))
    one, other = ((tmp_path / run / "tuned" / "scores.json").read_text("utf-8") for run in ("a", "b"))
    assert one == other
    assert found[0].after == found[1].after


def test_interrupted(task: Task, quick: list[str], tmp_path: Path):
    watcher = Watcher(7, lambda: os.kill(os.getpid(), signal.SIGINT))
    result = saccade.tune(task.base, task.memory, tmp_path / "tuned", overrides=quick, reporter=watcher)
    assert result.interrupted
    assert (result.before, result.after, result.report) == ({}, {}, None)
    result = saccade.tune(task.base, task.memory, tmp_path / "tuned", overrides=quick, reporter=(again := Watcher()))
    assert again.heard.count("update") == 17
    assert set(result.after) == {"in-domain"}
    assert "No general set was given" in result.report.read_text("utf-8")


def test_a_tuned_model_is_tuned_again(
    tuned: tuple[Path, TuningResult, Watcher], task: Task, quick: list[str], write: Any, tmp_path: Path
):
    memory = write(tmp_path / "more.tsv", 150, 9)
    result = saccade.tune(tuned[0], memory, tmp_path / "again", overrides=[*quick, "training.lora.rank=4"])
    assert result.training.update == 24
    card = (result.model / "card.md").read_text("utf-8")
    assert "tuned, sha256" in card
    assert " pairs of memory.en-de.tsv." in card
    assert "“Licence: CC BY 4.0”" in card
    assert "> > - train.tsv" in card


def test_an_adapter_needs_its_base(task: Task, quick: list[str], tmp_path: Path):
    shutil.copytree(task.base / "model", tmp_path / "base")
    overrides = [*quick, "training.lora.rank=4", "training.lora.merged=false"]
    saccade.tune(tmp_path / "base", task.memory, tmp_path / "tuned", overrides=overrides)
    texts = [pair.source for pair in Split.read(tmp_path / "tuned" / "data").test]
    by_engine = [saccade.load(tmp_path / "tuned", engine=name) for name in ("ctranslate2", "torch")]
    one, other = ([each.text for each in engine.translate(texts)] for engine in by_engine)
    assert one == other
    assert one != [each.text for each in saccade.load(tmp_path / "base").translate(texts)]
    assert by_engine[1].translate(texts[0], attention=True).attention is not None
    write_card(tmp_path / "base", "Another card is no other model.")
    saccade.load(tmp_path / "tuned", engine="torch")
    adapter = tmp_path / "tuned" / "model"
    (tmp_path / "base").rename(tmp_path / "gone")
    with pytest.raises(ModelError) as refused:
        saccade.load(adapter, engine="torch")
    assert str(refused.value) == (
        f"{adapter} stores what was changed of the model in {tmp_path}/base, which must be there, but: {tmp_path}/base "
        "must be a model directory, but there is nothing of that name. `saccade train` writes one below its run "
        f"directory, as `model`. Put it back, or change base.path in {adapter}/settings.toml."
    )
    shutil.copytree(tmp_path / "tuned" / "model", tmp_path / "base", ignore=shutil.ignore_patterns("adapter*"))
    shutil.copy(tmp_path / "gone" / "model.safetensors", tmp_path / "base")
    settings = (tmp_path / "gone" / "settings.toml").read_text("utf-8")
    (tmp_path / "base" / "settings.toml").write_text(settings.replace("num_heads = 2", "num_heads = 4"), "utf-8")
    with pytest.raises(ModelError) as refused:
        saccade.load(adapter, engine="torch")
    assert str(refused.value) == (
        f"{adapter} stores what was changed of the model in {tmp_path}/base, but that is another model now: its "
        f"checksum differs. Put the old one back, or change base.path in {adapter}/settings.toml."
    )
