"""A pointer network asked: batches change nothing, and scores are those of the search."""

import numpy as np
import pytest
import torch

from saccade.search.settings import SearchSettings
from saccade.tasks.pointing import engine as pointer
from saccade.tasks.pointing.engine import PointerEngine, label
from saccade.tasks.pointing.model import PointerNetwork
from saccade.tasks.pointing.points import draw
from saccade.tasks.pointing.settings import PointerSettings

SETS = draw(np.random.default_rng(1), 11, 1, 8, 2)


@pytest.fixture(params=["pointer", "index"])
def engine(request: pytest.FixtureRequest) -> PointerEngine:
    torch.manual_seed(1)
    return PointerEngine(PointerNetwork(PointerSettings(d_model=8, output=request.param, num_positions=8), 2).eval())


@pytest.mark.parametrize("beam", [1, 3])
def test_answers_keep_their_order_and_need_no_company(
    engine: PointerEngine, beam: int, monkeypatch: pytest.MonkeyPatch
):
    settings = SearchSettings(beam=beam, length_penalty=0.0)
    together = engine.answer(SETS, settings)
    monkeypatch.setattr(pointer, "BATCH", 3)
    for in_batches, whole, points in zip(engine.answer(SETS, settings), together, SETS, strict=True):
        (alone,) = engine.answer([points], settings)
        assert in_batches.order == whole.order == alone.order
        assert alone.log_prob == pytest.approx(whole.log_prob, abs=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_score_of_an_answer_is_the_models_own(engine: PointerEngine, beam: int):
    answers = engine.answer(SETS, SearchSettings(beam=beam, length_penalty=0.0))
    finished = [(points, answer) for points, answer in zip(SETS, answers, strict=True) if answer.finished]
    assert len(finished) > 5
    traces = engine.trace([points for points, _ in finished], [answer.order for _, answer in finished])
    assert [answer.log_prob for _, answer in finished] == pytest.approx([trace.log_prob for trace in traces], abs=1e-5)


def test_traces_follow_their_answers(engine: PointerEngine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pointer, "BATCH", 4)
    orders = [answer.order for answer in engine.answer(SETS)]
    for trace, points, order in zip(engine.trace(SETS, orders), SETS, orders, strict=True):
        (alone,) = engine.trace([points], [order])
        assert trace.source.tokens == (*(label(point) for point in points), "</s>")
        assert trace.target.tokens == (*(label(points[at]) for at in order), "</s>")
        assert trace.log_prob == pytest.approx(alone.log_prob, abs=1e-5)
        assert trace.layers[0].weights.shape == (1, len(order) + 1, len(points) + 1)


def test_elements_in_words():
    assert label(np.array([0.416])) == "0.42"
    assert label(np.array([0.1, 0.934])) == "(0.10, 0.93)"


def test_no_sets_have_no_answers(engine: PointerEngine):
    assert engine.answer([]) == []
    assert engine.trace([], []) == []
