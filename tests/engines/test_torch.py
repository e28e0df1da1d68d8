"""What the torch engine refuses, and how it batches; what it computes is in the contracts."""

import re
from threading import current_thread, main_thread

import numpy as np
import pytest
import torch

from saccade.engines import torch as module
from saccade.engines.torch import TorchEngine, _by_length, _in_threads
from saccade.errors import ModelError
from saccade.models.build import Model, build
from saccade.models.fill import fill
from saccade.models.settings import TransformerSettings
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import UNK
from saccade.training.checkpoint import parameters


@pytest.fixture
def model() -> Model:
    return build(TransformerSettings(layers=1, d_model=4, d_feedforward=4, num_heads=1), 6, 6)


def test_parameters_are_copied_in(model: Model):
    given = {name: np.full_like(values, 0.5) for name, values in parameters(model).items()}
    fill(model, given, origin="here")
    assert all(bool((parameter == 0.5).all()) for parameter in model.parameters())
    given["target_embedding.weight"][:] = 9
    assert bool((model.target_embedding.weight == 0.5).all()), "they are the model's own"


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("target_embedding.weight", None, "target_embedding.weight is missing"),
        ("target_embedding.wait", np.zeros(3, np.float32), "target_embedding.wait is not a parameter of this model"),
        (
            "target_embedding.weight",
            np.zeros((7, 4), np.float32),
            "target_embedding.weight must have shape (6, 4), not (7, 4)",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(model: Model, name: str, values: np.ndarray | None, problem: str):
    given = parameters(model) | {name: values}
    before = model.decoder[0].feed_forward.widen.weight.clone()
    given["decoder.0.feed_forward.widen.weight"] = np.zeros((4, 4), np.float32)
    message = f"The parameters of runs/old must fit its settings and vocabulary, but {problem}."
    with pytest.raises(ModelError, match=re.escape(message)):
        fill(model, {name: values for name, values in given.items() if values is not None}, origin="runs/old")
    assert torch.equal(model.decoder[0].feed_forward.widen.weight, before), "nothing was copied"


def test_many_problems_are_counted(model: Model):
    with pytest.raises(ModelError, match=r"; and 26 more\. Its files"):
        fill(model, {}, origin="runs/old")


def test_batches_hold_every_row_once_the_longest_first():
    lengths = [3, 9, 0, 4, 9, 30, 1]
    batches = list(_by_length(lengths, batch_tokens=20))
    assert sorted(row for rows in batches for row in rows) == list(range(7))
    assert batches[0] == [5], "longer than a batch, it has one of its own"
    assert all(len(rows) == 1 or len(rows) * (lengths[rows[0]] + 1) <= 20 for rows in batches)
    assert [lengths[row] for rows in batches for row in rows] == sorted(lengths, reverse=True)


def test_every_thread_has_a_batch():
    assert [len(rows) for rows in _by_length([3] * 10, batch_tokens=1000, threads=2)] == [5, 5]
    assert list(_by_length([3], batch_tokens=1000, threads=4)) == [[0]]
    assert list(_by_length([], batch_tokens=1000, threads=4)) == []
    assert [len(rows) for rows in _by_length([3] * 10, batch_tokens=1000, threads=2, most=3)] == [3, 3, 3, 1]


def test_threads_change_nothing(model: Model, monkeypatch: pytest.MonkeyPatch):
    """Batches that several threads search at once are answered in order."""
    monkeypatch.setattr(module, "BATCH_TOKENS", 24)
    engine, sources, settings = TorchEngine(model.eval()), [[4, 5] * n for n in range(9)], SearchSettings(beam=2)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(module, "_threads", lambda device, threads=threads: threads)
        done: list[int] = []
        found.append(engine.translate(sources, settings, advanced=done.append))
        assert sum(done) == 9
    assert [[each.ids for each in several] for several in found[0]] == [
        [each.ids for each in several] for several in found[1]
    ]


def test_a_single_batch_needs_no_thread():
    found = list(_in_threads(lambda rows: [[Hypothesis((), 0.0, 0.0, current_thread() is main_thread())]], [[3]], 2))
    assert found[0][1][0][0].finished


def test_what_fails_in_a_thread_fails_here():
    before = torch.get_num_threads()

    def fail(rows: list[int]) -> list[list[Hypothesis]]:
        raise RuntimeError(f"of {rows}")

    with pytest.raises(RuntimeError, match=r"of \[3\]"):
        list(_in_threads(fail, [[3], [4], [5]], threads=2))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("beam", [1, 3])
def test_unknown_tokens_are_written_unless_a_search_forbids_them(beam: int):
    settings = TransformerSettings(layers=1, d_model=4, d_feedforward=4, num_heads=1, output_bias=True)
    model = build(settings, 9, 9)
    with torch.no_grad():
        model.output_bias[UNK] = 9.0
    engine = TorchEngine(model)
    ((written, *_),) = engine.translate([[4, 5]], SearchSettings(beam=beam, max_length_extra=1))
    assert UNK in written.ids
    ((written, *_),) = engine.translate([[4, 5]], SearchSettings(beam=beam, max_length_extra=1, unknown=False))
    assert UNK not in written.ids
