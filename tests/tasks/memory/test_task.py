"""The tasks in episodes: what is measured, what is shown, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.errors import DataError, ModelError
from saccade.search.settings import SearchSettings
from saccade.tasks.memory.settings import (
    CopySettings,
    EpisodesSettings,
    LstmSettings,
    RecallSettings,
    TuringSettings,
)
from saccade.tasks.memory.task import MemoryTask
from saccade.trace.file import load_all

RECIPE = """\
run = "run"

[task]
kind = "copy"
bits = 2
longest = 3
batch = 4

[model]
kind = "turing"
d_controller = 8
rows = 6
d_row = 4
read_heads = 2

[training]
updates = 4
learning_rate = 0.01
warmup = 1
validate_every = 2
checkpoint_every = 2
average = 0
threads = 1
"""
SMALL = TuringSettings(d_controller=8, rows=6, d_row=4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, saccade: Callable) -> Path:
    directory = tmp_path_factory.mktemp("copy")
    (directory / "recipe.toml").write_text(RECIPE, "utf-8")
    ended = saccade("train", directory / "recipe.toml")
    assert ended.code == 0, ended.stderr
    assert "exact match" in ended.stderr
    return directory / "run"


def lesson(task: EpisodesSettings, model: TuringSettings | LstmSettings = SMALL) -> MemoryTask:
    return MemoryTask(task, model, SearchSettings())


def test_it_is_measured_at_twice_the_size(trained: Path, saccade: Callable):
    ended = saccade("evaluate", "--model", trained, "--json")
    assert ended.code == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert list(figures) == [
        "loss",
        "exact match",
        "bits per sequence",
        "bits per sequence, twice the size",
        "exact match, twice the size",
    ]
    assert 0 < figures["bits per sequence"] < figures["bits per sequence, twice the size"]


def test_its_heads_can_be_watched(trained: Path, tmp_path: Path, saccade: Callable):
    for name in ("a.html", "a.svg", "a.json"):
        ended = saccade("view", "--model", trained, "01 11", "-o", tmp_path / name)
        assert ended.code == 0, ended.stderr
        assert (tmp_path / name).stat().st_size > 100
    trace = load_all(tmp_path / "a.json")[0]
    steps = trace.target.tokens
    assert steps[:3] == ("01", "11", "[1]")
    assert [step[0] for step in steps[3:]] == ["→", "→"]
    assert [(layer.name, layer.kind, layer.weights.shape) for layer in trace.layers] == [
        ("machine.reading", "memory", (2, 5, 6)),
        ("machine.writing.addressing", "memory", (1, 5, 6)),
    ]
    shown = saccade("view", "--model", trained).stdout
    assert shown.count("memory slot") == 2
    assert shown.index("machine.reading, mean of 2 heads") < shown.index("machine.writing.addressing, head 1 of 1")


def test_what_a_memory_has_no_room_for_is_not_measured():
    taught = lesson(CopySettings(bits=2, longest=4))
    assert list(taught.evaluate(taught.build())) == ["loss", "exact match", "bits per sequence"]


@pytest.mark.parametrize(
    ("task", "model", "text", "error", "message"),
    [
        (
            CopySettings(bits=2),
            LstmSettings(layers=1, d_model=4),
            None,
            ModelError,
            "Weights were asked for, but an LSTM has none: it keeps what it saw in its state. "
            'Train a model of kind "turing".',
        ),
        (
            CopySettings(bits=2),
            SMALL,
            "01 012",
            DataError,
            "An episode must be vectors of 2 zeros and ones with blanks between them, but 012 is none.",
        ),
        (
            CopySettings(bits=2),
            SMALL,
            " ",
            DataError,
            "An episode must be vectors of 2 zeros and ones with blanks between them, but the text is empty.",
        ),
        (
            CopySettings(bits=2),
            SMALL,
            "01 11 00 10 01 11 01",
            DataError,
            "A memory needs a row for each of the 7 things that an episode wants remembered, but has 6. Train a "
            "machine with model.rows = 7 or more, or give it shorter episodes.",
        ),
        (
            RecallSettings(),
            SMALL,
            "01",
            DataError,
            "Only an episode of copying can be given as text, but this model has learned recall. Leave the text out to "
            "see an example.",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(task, model, text, error, message):
    taught = lesson(task, model)
    with pytest.raises(error) as caught:
        taught.show(taught.build(), text)
    assert str(caught.value) == message
