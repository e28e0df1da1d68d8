"""What must hold for every task: its batches, its loss, its runs, its models, its commands and its settings."""

import inspect
import json
import math
import os
import re
import shutil
import signal
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import Ended
from tests.contracts.tasks import Tiny, as_double, every_task, num_rows, precise_model, take, tensors, widen
from tests.tasks.captioning.walls import Colours
from tests.training.toy import Crash, Recorder, crash, metrics

import saccade as library
from saccade import tasks
from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.directory import ModelDirectory
from saccade.errors import DataError, ModelError
from saccade.models.fill import fill
from saccade.nn.capture import AttentionModule
from saccade.tasks.build import FOLDERS, recipe_classes
from saccade.tasks.generated import GeneratedTask
from saccade.tasks.memory.task import MemoryTask
from saccade.trace.file import from_json, load_all, to_json
from saccade.trace.trace import KINDS
from saccade.training.checkpoint import parameters
from saccade.training.task import Task

TINY = every_task()
of_every_kind = pytest.mark.parametrize("name", recipe_classes())
of_every_training = pytest.mark.parametrize(
    "name", [*recipe_classes(), "translation, directions", "digits, hard", "copy, LSTM"]
)
"""Hard attention samples and has a baseline; an LSTM has no weights to show."""
EXACT = {"rel": 1e-9, "abs": 1e-9}
NUM_BATCHES = 7
"""More than an epoch of photographs has."""


def translates(name: str) -> bool:
    """Whether a task is translation, of any directions."""
    return name.partition(",")[0] == "translation"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation, evaluation and estimates look at less, and a small network describes photographs."""
    monkeypatch.setattr("saccade.tasks.captioning.task.EfficientNet", Colours)
    for task in (GeneratedTask, MemoryTask):
        monkeypatch.setattr(task, "num_valid", 1)
        monkeypatch.setattr(task, "num_test", 2)
    monkeypatch.setattr("saccade.tasks.pointing.task.NUM_TESTED", 4)
    monkeypatch.setattr("saccade.tasks.memory.task.NUM_LARGER", 4)
    monkeypatch.setattr("saccade.training.estimate.NUM_SAMPLED", 10)


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tasks")


@pytest.fixture(params=TINY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tiny(name: str) -> Tiny:
    return TINY[name]


@pytest.fixture
def task(name: str, tiny: Tiny, shelf: Path) -> Task:
    return tiny.open(shelf / name)


@pytest.fixture
def trained(name: str, tiny: Tiny, shelf: Path) -> Path:
    """The directory of a recipe and of its finished run; tests that change anything take a copy."""
    directory = shelf / name
    if not (directory / "finished").exists():
        result = library.train(tiny.recipe(directory))
        assert (result.update, result.interrupted) == (6, False)
        (directory / "finished").touch()
    return directory


@pytest.fixture
def batch(task: Task) -> Any:
    return as_double(first_batches(task, 1)[0].batch)


def first_batches(
    task: Task, number: int, start: Position | None = None, rank: int = 0, world: int = 1
) -> list[Loaded]:
    return list(islice(task.batches(start or Position(), rank, world), number))


def same(ours: Any, theirs: Any) -> bool:
    return type(ours) is type(theirs) and all(
        torch.equal(value, getattr(theirs, name)) for name, (value, _) in tensors(ours).items()
    )


# The list


def test_every_kind_of_task_is_tried():
    kinds = {name.partition(",")[0] for name in TINY}
    missing, unknown = recipe_classes().keys() - kinds, kinds - recipe_classes().keys()
    assert not missing, f"The contracts do not try {missing}: add a tiny recipe of it to tests/contracts/tasks.py"
    assert not unknown, f"There is no task {unknown}: remove its tiny recipe from tests/contracts/tasks.py"


def test_every_folder_is_listed():
    folders = {path.parent.name for root in tasks.__path__ for path in Path(root).glob("*/task.py")}
    assert folders == set(FOLDERS), "A folder of saccade/tasks must be listed in saccade/tasks/build.py"


# The protocol


def test_it_keeps_the_protocol(task: Task):
    assert isinstance(task, Task)
    for name, method in inspect.getmembers(Task, inspect.isfunction):
        if not name.startswith("_"):
            wanted = list(inspect.signature(method).parameters)[1:]
            assert list(inspect.signature(getattr(task, name)).parameters) == wanted, name
    assert len(task.digest) == 64
    assert task.batches_per_epoch is None or task.batches_per_epoch > 0
    assert task.d_model > 0
    assert task.place(0)


def test_a_digest_tells_the_data(name: str, tiny: Tiny, task: Task, shelf: Path, tmp_path: Path):
    assert tiny.open(shelf / name).digest == task.digest
    if not tiny.file:
        assert tiny.open(shelf / name, tiny.changed).digest != task.digest
        assert tiny.open(shelf / name, "training.seed=8").digest != task.digest
        return
    tiny.recipe(tmp_path / "other")
    with (tmp_path / "other" / tiny.file).open("a", encoding="utf-8") as file:
        file.write(tiny.changed)
    assert tiny.open(tmp_path / "other").digest != task.digest


def test_batches_are_a_function_of_their_position(task: Task):
    batches = first_batches(task, NUM_BATCHES)
    for done in (0, 1, NUM_BATCHES - 2):
        again = first_batches(task, 2, batches[done - 1].position if done else Position())
        for ours, theirs in zip(batches[done : done + 2], again, strict=True):
            assert ours.position == theirs.position
            assert ours.rows.tolist() == theirs.rows.tolist()
            assert same(ours.batch, theirs.batch)
    assert not same(batches[0].batch, batches[1].batch)


def test_two_processes_share_the_stream_out(task: Task):
    alone = first_batches(task, 2 * NUM_BATCHES)
    both = [first_batches(task, NUM_BATCHES, rank=rank, world=2) for rank in (0, 1)]
    for number, (first, second) in enumerate(zip(*both, strict=True)):
        assert first.position == second.position == alone[2 * number + 1].position
        for ours, theirs in ((first, alone[2 * number]), (second, alone[2 * number + 1])):
            assert ours.rows.tolist() == theirs.rows.tolist()
            assert same(ours.batch, theirs.batch)


# The loss


@torch.no_grad()
def test_the_loss_is_a_sum_over_targets(task: Task, batch: Any):
    learner, half = task.learner(precise_model(task)), num_rows(batch) // 2
    halves = [take(batch, slice(half)), take(batch, slice(half, None))]
    assert sum(part.num_targets for part in halves) == batch.num_targets > 0
    wanted, reported = learner(batch)
    assert math.isfinite(wanted)
    assert float(reported) == pytest.approx(sum(float(learner(part)[1]) for part in halves), **EXACT)


@torch.no_grad()
def test_padding_and_company_change_nothing(task: Task, batch: Any):
    learner = task.learner(precise_model(task))
    reported = float(learner(batch)[1])
    assert float(learner(widen(batch))[1]) == pytest.approx(reported, **EXACT)
    alone = [take(batch, slice(row, row + 1)) for row in range(num_rows(batch))]
    assert sum(float(learner(row)[1]) for row in alone) == pytest.approx(reported, **EXACT)
    company = [take(batch, slice(row, row + 2)) for row in range(num_rows(batch) - 1)]
    for first, second, both in zip(alone, alone[1:], company, strict=False):
        apart = float(learner(first)[1]) + float(learner(second)[1])
        assert float(learner(both)[1]) == pytest.approx(apart, **EXACT)


def test_every_parameter_gets_a_gradient(task: Task, batch: Any):
    model = precise_model(task).train()
    learner = task.learner(model)
    learner(batch)[0].backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert [name for name, gradient in gradients.items() if gradient is None] == []
    assert [name for name, gradient in gradients.items() if not gradient.isfinite().all()] == []
    assert any(gradient.any() for gradient in gradients.values())


# Runs


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def left_behind(run: Path) -> dict[str, Any]:
    """All files of a finished run that must not depend on how often it stopped, without the time that it took."""
    files: dict[str, Any] = {"metrics": metrics(run)}
    for path in sorted([*run.glob("checkpoints/**/*"), *run.glob("model/**/*")]):
        if path.is_dir() or "ct2" in path.parts:  # which is made when somebody translates
            continue
        content: Any = path.read_bytes()
        if path.name == "checkpoint.json":
            content = json.loads(content)
            content = (content["sha256"], content["progress"] | {"seconds": 0})
        elif path.name == "card.md":
            content = re.sub(r"after [\d.]+ minutes", "", content.decode())
        if path.name != "manifest.json":  # which has the checksum of the card
            files[str(path.relative_to(run))] = content
    return files


@of_every_training
@pytest.mark.parametrize("stops", [{3: interrupt}, {5: crash}], ids=["interrupted", "killed"])
def test_resumed_is_uninterrupted(stops: dict[int, Callable[[], None]], trained: Path, tmp_path: Path):
    overrides = [f"run={tmp_path / 'run'}"]
    for update, act in stops.items():
        recorder = Recorder(at={update: act})
        try:
            assert library.train(trained / "recipe.toml", overrides=overrides, reporter=recorder).interrupted
        except Crash:
            assert act is crash
        assert list(recorder.losses) == list(range(1, update + 1))
    resumed = Recorder()
    assert library.train(trained / "recipe.toml", overrides=overrides, reporter=resumed).update == 6
    assert list(resumed.losses) == ([4, 5, 6] if 3 in stops else [5, 6])
    ours, theirs = left_behind(tmp_path / "run"), left_behind(trained / "run")
    assert ours.keys() == theirs.keys()
    assert [file for file in ours if ours[file] != theirs[file]] == []


# Models


def test_a_loaded_model_says_the_same(tiny: Tiny, task: Task, tmp_path: Path):
    torch.manual_seed(2)
    model = task.build().eval()
    task.save(tmp_path / "model", parameters(model), "A story.")
    figures = task.evaluate(model)
    assert all(map(math.isfinite, figures.values()))
    opened = library.open_model(tmp_path / "model")
    if isinstance(opened, library.Translator):
        loaded = task.build().eval()
        fill(loaded, ModelDirectory.open(tmp_path / "model").parameters(), origin="the model")
        assert task.evaluate(loaded) == figures
        assert (
            task.show(model, tiny.text)[0].target
            == opened.translate(tiny.text, to=tiny.to[-1] if tiny.to else None, attention=True).attention.target
        )
        return
    assert opened.evaluate() == figures
    if tiny.attends:
        assert_equal(opened.show(tiny.text), task.show(model, tiny.text))


def test_weights_are_given_or_refused(tiny: Tiny, task: Task):
    model = task.build()
    for text in {None, tiny.text}:
        if not tiny.attends:
            with pytest.raises(ModelError, match="Weights were asked for"):
                task.show(model, text)
            continue
        traces = task.show(model, text)
        for layer in traces[0].layers:
            np.testing.assert_allclose(layer.weights.sum(axis=-1), 1.0, atol=1e-4)
        assert_equal([from_json(json.loads(json.dumps(to_json(trace)))) for trace in traces], traces)
    assert model.training, "looking at a model leaves it as it was"


@pytest.mark.parametrize("name", [name for name, tiny in TINY.items() if tiny.attends and not translates(name)])
def test_a_text_is_shown_or_refused(task: Task):
    with pytest.raises(DataError):
        task.show(task.build(), "no such thing")


def test_every_attention_declares_its_kind(task: Task):
    layers = [module for module in task.build().modules() if isinstance(module, AttentionModule)]
    assert {layer.kind for layer in layers} <= set(KINDS)


def assert_equal(ours: list[Any], theirs: list[Any]) -> None:
    """Traces, to the precision of a stored one."""
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        assert (one.source, one.target, one.image) == (other.source, other.target, other.image)
        assert [(layer.name, layer.kind) for layer in one.layers] == [
            (layer.name, layer.kind) for layer in other.layers
        ]
        for layer, twin in zip(one.layers, other.layers, strict=True):
            np.testing.assert_allclose(layer.weights, twin.weights, atol=1e-3)


@of_every_kind
def test_an_older_layout_is_refused(trained: Path, tmp_path: Path):
    shutil.copytree(trained / "run/model", tmp_path / "model")
    settings = tmp_path / "model/settings.toml"
    settings.write_text(settings.read_text("utf-8").replace("format = 2", "format = 1"), "utf-8")
    with pytest.raises(ModelError) as caught:
        library.open_model(tmp_path / "model")
    assert str(caught.value).startswith(f"{settings} has format 1, written by saccade {library.__version__}")
    assert str(caught.value).endswith("Train or import it again.")


# Commands


@of_every_training
def test_the_commands_work_on_it(name: str, tiny: Tiny, trained: Path, tmp_path: Path, saccade: Callable[..., Ended]):
    ended = saccade("train", trained / "recipe.toml", "--dry-run", "--set", f"run={tmp_path / 'run'}")
    assert ended.code == 0, ended.stderr
    assert "6 updates" in ended.stdout
    assert not (tmp_path / "run/checkpoints").exists()

    ended = saccade("info", trained / "run")
    assert ended.code == 0, ended.stderr
    assert tomllib.loads(ended.stdout)["task"]["kind"] == name.partition(",")[0]

    ended = saccade(
        "evaluate", "--model", trained / "run", "--json", *evaluation_data(name, trained, tmp_path), *tiny.to
    )
    assert ended.code == 0, ended.stderr
    assert all(map(math.isfinite, numbers(json.loads(ended.stdout))))

    words = () if tiny.text is None else (tiny.text,)
    ended = saccade(
        "view", "--model", trained / "run", *words, *tiny.to, "-o", tmp_path / "a.json", "-o", tmp_path / "a.html"
    )
    if tiny.attends:
        assert ended.code == 0, ended.stderr
        assert load_all(tmp_path / "a.json")
    else:
        assert ended.code == 1
        assert "Weights were asked for" in ended.stderr

    if not translates(name):
        ended = saccade("view", "--model", trained / "run", "--beam", "3")
        assert ended.code == 2
        assert "--beam" in ended.stderr

    ended = saccade("translate", "--model", trained / "run", *tiny.to, stdin="abc\n")
    assert ended.code == (0 if translates(name) else 1), ended.stderr
    assert translates(name) or f'has learned the task "{name.partition(",")[0]}"' in ended.stderr


def evaluation_data(name: str, trained: Path, directory: Path) -> list[str | Path]:
    """Translations are measured against known ones, other tasks on data of their own."""
    if not translates(name):
        return []
    pairs = [line.split("\t") for line in (trained / "valid.tsv").read_text("utf-8").splitlines()]
    for file, lines in zip(("source", "reference"), zip(*pairs, strict=True), strict=True):
        (directory / file).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return ["--source", directory / "source", "--reference", directory / "reference"]


def numbers(value: Any) -> Iterator[float]:
    """Those of a table of JSON."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from numbers(part)
    elif isinstance(value, int | float):
        yield value


# Settings

OF_TRANSLATION = {
    "training.precision": "bfloat16",
    "training.compile": "true",
    "training.consistency": "1.0",
    "training.warm_start": "model",
    "training.batch_tokens": "100",
    "training.validation_beam": "2",
    "training.validation_sentences": "10",
    "training.label_smoothing": "0.2",
    "search.beam": "3",
}
OBEYED = {
    "translation": set(OF_TRANSLATION),
    "captions": {"training.label_smoothing", "search.beam"},
    "sort": {"search.beam"},
    "hull": {"search.beam"},
    "tour": {"search.beam"},
}


@of_every_kind
def test_a_setting_without_effect_cannot_be_written(
    name: str, tiny: Tiny, tmp_path: Path, saccade: Callable[..., Ended]
):
    settings = OF_TRANSLATION | {"training.updates": "none"}  # so that nothing is trained
    words = [word for setting, value in settings.items() for word in ("--set", f"{setting}={value}")]
    ended = saccade("train", tiny.recipe(tmp_path / "task"), *words)
    assert ended.code == 1
    refused = {
        setting for setting in OF_TRANSLATION if re.search(rf"{_section(setting)} is not a setting", ended.stderr)
    }
    assert refused == OF_TRANSLATION.keys() - OBEYED.get(name, set()), ended.stderr


def _section(setting: str) -> str:
    """What is named of a setting that is not there: a whole section if that is not there."""
    return setting if setting.startswith("training.") else setting.partition(".")[0]


@of_every_kind
def test_the_default_model_reads_the_data(tiny: Tiny, tmp_path: Path):
    directory = tmp_path / "task"
    tiny.recipe(directory)
    path = directory / "recipe.toml"
    path.write_text(re.sub(r"\[model\][^\[]*", "", path.read_text("utf-8")), "utf-8")
    task = tiny.open(directory)
    batch = first_batches(task, 1)[0].batch
    with torch.no_grad():
        assert math.isfinite(task.learner(task.build())(batch)[1])
