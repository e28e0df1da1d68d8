"""The exact words a user of `saccade tune` reads when something is wrong."""

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Ended

from saccade import directory
from saccade.data.settings import CorpusSettings
from saccade.errors import SaccadeError, SettingsError
from saccade.fields import OutOfBounds
from saccade.models.build import build
from saccade.models.settings import RecurrentSettings, TransformerSettings
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.text.languages import Direction, with_tags
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.training.adaptation import LowRank
from saccade.training.settings import LoraSettings
from saccade.tuning.split import split_memory

Run = Callable[..., Ended]


def sentences(number: int, seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 7))) for _ in range(400)]
    sources = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(number)]
    return [(source, source.upper()) for source in sources]


def write(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return path


def save(path: Path, *directions: tuple[str, str]) -> Path:
    """A model that was never trained."""
    settings = TransformerSettings(layers=1, d_model=16, d_feedforward=16, num_heads=2)
    tagged = with_tags([Direction(source=source, target=target) for source, target in directions])
    extra = tuple(dict.fromkeys(direction.tag for direction in tagged if direction.tag))
    learned = Tokenizer.learn(["abc", "ABC"], TokenizerSettings(vocabulary=300, kind="char"), seed=1, tags=extra)
    model = build(settings, len(learned), len(learned))
    parameters = {name: values.detach().numpy() for name, values in model.named_parameters()}
    description = directory.Description(directions=tagged, max_tokens=60, model=settings)
    directory.save(path, description, Tokenizers(learned, learned), parameters, "# A model\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    save(path / "one", ("en", "de"))
    save(path / "many", ("en", "de"), ("de", "en"), ("zh", "en"))
    write(path / "memory.tsv", sentences(150, 1))
    write(path / "other.tsv", sentences(150, 2))
    for number, code in enumerate(("en", "de")):
        (path / f"memory.{code}").write_text("".join(f"{pair[number]}\n" for pair in sentences(150, 1)), "utf-8")
    return path


def said(ended: Ended) -> str:
    assert ended.code == 1, ended.stderr
    return " ".join(ended.stderr.split())


# The memory and other text


@pytest.mark.parametrize(
    ("memory", "general", "replay", "message"),
    [
        (
            [*sentences(60, 1), *sentences(60, 1)],
            None,
            None,
            "Tuning needs at least 100 different pairs, but memory.tsv has 60: 120 pairs were read; left out were 60 because the same pair came before. Give a larger memory.",
        ),
        (
            [(f"The pump in hall {n} is wet.", f"Pumpe {n}") for n in range(300)],
            None,
            None,
            "Tuning is measured on 10 sentences of the memory at least that are unlike all others, but memory.tsv has 0: nearly all repeat each other. Give more text, or use `saccade train` with training.warm_start and a data.valid of your own.",
        ),
        (
            sentences(200, 1),
            sentences(200, 1),
            None,
            "The general set must be other text than the memory, but 200 of the 200 sentences of general.tsv are in memory.tsv. Name text of another kind.",
        ),
        (
            sentences(200, 1),
            [("", "")],
            None,
            "The general set general.tsv must have pairs of text, but it has none. Name another.",
        ),
        (
            sentences(200, 1),
            None,
            sentences(200, 1),
            "Replay needs pairs that are neither in the memory nor in the general set, but replay.tsv has none. Name text like that which the model was trained on.",
        ),
    ],
    ids=["too small", "all alike", "general is the memory", "general is blank", "replay is the memory"],
)
def test_text_that_cannot_be_used(
    memory: Any, general: Any, replay: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    given = {"memory": memory, "general": general, "replay": replay}
    corpora = {
        name: [] if pairs is None else [CorpusSettings(file=write(Path(f"{name}.tsv"), pairs))]
        for name, pairs in given.items()
    }
    with pytest.raises(SaccadeError) as refused:
        split_memory(*corpora.values(), seed=1)
    assert str(refused.value) == message


# Languages


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        (
            "one",
            ("memory.tsv", "--from", "fr"),
            "error: one does not translate from fr. It translates en → de.",
        ),
        (
            "one",
            ("memory.de", "memory.en"),
            "error: one does not translate from de to en. It translates en → de. The languages were guessed from memory.de and memory.en: give --from and --to.",
        ),
        (
            "many",
            ("memory.tsv",),
            'error: many translates en → de, de → en, zh → en: name the language to translate to ("de" or "en"), as to=… or with --to.',
        ),
        (
            "many",
            ("memory.tsv", "--to", "en"),
            'error: many translates de → en, zh → en: name the language of the memory\'s sources ("de" or "zh"), with --from.',
        ),
    ],
)
def test_languages(saccade: Run, files: Path, monkeypatch: pytest.MonkeyPatch, model: str, words: Any, message: str):
    monkeypatch.chdir(files)
    shutil.rmtree("tuned", ignore_errors=True)
    assert said(saccade("tune", model, *words, "-o", "tuned")) == message
    assert not Path("tuned").exists()


# Files


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("memory.en",),
            "error: A file of sources must be followed by that of their translations, but memory.en is the last one. Add the other, or name a file that ends in .tsv and has both, with a tab between.",
        ),
        (
            ("memory.tsv", "--general", "memory.en"),
            "error: A file of sources must be followed by that of their translations, but memory.en is the last one. Add the other, or name a file that ends in .tsv and has both, with a tab between.",
        ),
        (
            ("memory.en", "memory.en"),
            "error: source and target must be two files, but both are memory.en. Name the file of sources, then that of their translations.",
        ),
        (
            ("memory.tsv", "--replay", "nothing.tsv"),
            "error: The file nothing.tsv must exist, but it does not. Check the path; in a recipe, relative ones start from the recipe's own directory. docs/data.md says where the public data sets come from.",
        ),
        (
            ("memory.tsv", "--set", "data.max_tokens=5"),
            "error: tune: only settings of training, model and search can be set, as all else follows from the files, but data.max_tokens=5 is none of them.",
        ),
        (
            ("memory.tsv", "--set", "training.pull=1", "--lora", "4"),
            "error: tune: training: pull and lora must not both be given: LoRA freezes what pull would hold back. Remove one",
        ),
        (("memory.tsv", "--lora", "2000"), "error: tune: training.lora.rank must be from 1 to 1,024, not 2000."),
    ],
)
def test_files_and_settings(saccade: Run, files: Path, monkeypatch: pytest.MonkeyPatch, words: Any, message: str):
    monkeypatch.chdir(files)
    shutil.rmtree("tuned", ignore_errors=True)
    assert said(saccade("tune", "one", *words, "-o", "tuned")) == message
    assert not Path("tuned/checkpoints").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give the memory's files, or --source and --target together, or --file alone"),
        (("memory.tsv", "--file", "memory.tsv"), "give the memory's files, or --source and --target together"),
        (("--source", "memory.en"), "give the memory's files, or --source and --target together, or --file alone"),
        (("memory.tsv", "--fail-if-general-drops", "1"), "--fail-if-general-drops needs a general set: give --general"),
    ],
)
def test_wrong_usage(saccade: Run, files: Path, monkeypatch: pytest.MonkeyPatch, words: Any, message: str):
    monkeypatch.chdir(files)
    ended = saccade("tune", "one", *words)
    assert ended.code == 2
    assert message in " ".join(ended.stderr.replace("│", " ").split())


# An output that exists


def test_an_output_of_something_else(saccade: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("tuned").mkdir()
    Path("tuned/letter.txt").write_text("Dear Jane", "utf-8")
    assert said(saccade("tune", files / "one", files / "memory.tsv", "-o", "tuned")) == (
        "error: tuned must be a new directory, or one of an interrupted tuning, but it holds something else. Name another output; nothing was written."
    )


def test_an_output_of_other_files_or_settings(
    saccade: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    quick = ("--set", "training.updates=1", "--set", "training.threads=1", "-o", "tuned")
    assert saccade("tune", files / "one", files / "memory.tsv", *quick).code == 0
    other = save(tmp_path / "other", ("en", "de"))
    begun = (
        "error: tuned must be a new directory, or one that was begun with the same model and files, but it has another"
    )
    remedy = "Name another output, or give what it was begun with to resume it."
    assert said(saccade("tune", files / "one", files / "other.tsv", *quick)) == f"{begun} memory. {remedy}"
    assert said(saccade("tune", other, files / "memory.tsv", "--general", files / "other.tsv", *quick)) == (
        f"{begun} model and general set. {remedy}"
    )
    changed = (*quick, "--set", "training.seed=9")
    assert said(saccade("tune", files / "one", files / "memory.tsv", *changed)).endswith(
        "error: The run in tuned was started with other settings. Undo these changes to resume it, or give the new recipe a `run` directory of its own: training.seed: 1 -> 9"
    )


# Training settings


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"pull": 1.0}, "pull needs a warm_start, which it keeps the model close to. Set it, or remove pull"),
        (
            {"start_share": 0.5},
            "start_share needs a warm_start, which it keeps the model close to. Set it, or remove start_share",
        ),
        (
            {"lora": LoraSettings()},
            "lora needs a warm_start, which it keeps the model close to. Set it, or remove lora",
        ),
        ({"pull": -1.0}, "pull must be at least 0, not -1.0"),
        ({"start_share": 1.0}, "start_share must be at least 0 and below 1, not 1.0"),
        (
            {"warm_start": Path("m"), "shard": True, "pull": 1.0},
            "pull goes with shard = false only: the start is not sharded",
        ),
    ],
)
def test_restraints(given: Any, problem: str):
    with pytest.raises(OutOfBounds) as refused:
        replace(TranslationTrainingSettings(), **given)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"rank": 0}, "rank must be from 1 to 1,024, not 0"),
        ({"scale": 0.0}, "scale must be above 0 and at most 1,000, not 0.0"),
    ],
)
def test_lora(given: Any, problem: str):
    with pytest.raises(OutOfBounds) as refused:
        LoraSettings(**given)
    assert str(refused.value) == problem


def test_lora_of_layers_that_are_not_there():
    with pytest.raises(SettingsError) as refused:
        LowRank(build(RecurrentSettings(d_model=8), 9, 9), LoraSettings(layers="feed-forward"), share=0.0)
    assert (
        str(refused.value) == 'LoRA: training.lora.layers must name layers of the model, but it has no "feed-forward".'
    )
