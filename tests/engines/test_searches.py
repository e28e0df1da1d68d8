"""Every search on real models: whatever the company, the same answer, and the model's own log-probability."""

import pytest
from tests.contracts.models import SOURCES, taught_model

from saccade.engines import torch as engines
from saccade.engines.torch import TorchEngine
from saccade.search.constraints import FREE, Constraints
from saccade.search.hypothesis import score
from saccade.search.settings import SearchSettings

MODELS = ["transformer, pre-norm", "convolutional", "bahdanau, LSTM"]
GIVEN = [*SOURCES, [4] * 9, [8, 7], SOURCES[0], [5, 9, 10, 4, 4, 4, 6]]
SEARCHES = {
    "exact": SearchSettings(beam=3, n_best=3, stopping="exact"),
    "coverage": SearchSettings(beam=4, n_best=2, coverage_penalty=0.3),
    "rules": SearchSettings(beam=3, n_best=3, min_length=3, no_repeat_ngram=2, max_repeats=1),
    "greedy with rules": SearchSettings(beam=1, min_length=3, no_repeat_ngram=2),
    "diverse": SearchSettings(method="diverse", beam=4, n_best=4, groups=2),
    "alternatives": SearchSettings(method="alternatives", beam=2, n_best=3),
    "sampling": SearchSettings(method="sampling", n_best=3, temperature=1.5),
    "nucleus": SearchSettings(method="sampling", top_k=4, top_p=0.8),
}
HELD = [Constraints(prefix=(5, 6)), FREE, Constraints(banned=((4,), (9, 5))), Constraints(required=((8, 9),))] * 3


@pytest.fixture(params=MODELS)
def engine(request: pytest.FixtureRequest) -> TorchEngine:
    return TorchEngine(taught_model(request.param))


@pytest.mark.parametrize("name", SEARCHES)
def test_company_and_order_change_nothing(engine: TorchEngine, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "BATCH_TOKENS", 60)
    settings, held = SEARCHES[name], HELD[: len(GIVEN)]
    if settings.method not in ("beam", "alternatives"):
        held = [Constraints(prefix=each.prefix, banned=each.banned) for each in held]
    done: list[int] = []
    together = engine.translate(GIVEN, settings, constraints=held, advanced=done.append)
    assert sum(done) == len(GIVEN)
    backwards = engine.translate(GIVEN[::-1], settings, constraints=held[::-1])[::-1]
    for source, constraints, one, other in zip(GIVEN, held, together, backwards, strict=True):
        (alone,) = engine.translate([source], settings, constraints=[constraints])
        assert [each.ids for each in one] == [each.ids for each in other] == [each.ids for each in alone]
        assert [each.score for each in one] == pytest.approx([each.score for each in alone], abs=1e-10)
        assert all(each.unmet == () for each in one if constraints.required)


@pytest.mark.parametrize("name", SEARCHES)
def test_log_prob_is_the_models_own(engine: TorchEngine, name: str):
    settings = SEARCHES[name]
    found = engine.translate(GIVEN, settings)
    pairs = [(source, each) for source, several in zip(GIVEN, found, strict=True) for each in several if each.finished]
    assert pairs
    own = engine.score([source for source, _ in pairs], [each.ids for _, each in pairs])
    assert [each.log_prob for _, each in pairs] == pytest.approx(own, abs=1e-10)
    if not settings.coverage_penalty:
        lengths = [score(each.log_prob, len(each.ids) + 1, settings) for _, each in pairs]
        assert [each.score for _, each in pairs] == lengths


@pytest.mark.parametrize("settings", [SearchSettings(beam=1), SearchSettings(method="sampling", temperature=1.5)])
def test_what_is_streamed_is_what_is_translated(engine: TorchEngine, settings: SearchSettings):
    engine.model.train()
    try:
        for source, constraints in zip(GIVEN, [FREE, HELD[0], HELD[2]] * 3, strict=True):
            ((whole,),) = engine.translate([source], settings, constraints=[constraints])
            assert tuple(engine.stream(source, settings, constraints=constraints)) == whole.ids
        assert engine.model.training, "between tokens and after them"
    finally:
        engine.model.eval()


def test_coverage_ranks_what_the_beam_has_found(engine: TorchEngine):
    plain = engine.translate(GIVEN, SearchSettings(beam=4, n_best=4))
    covered = engine.translate(GIVEN, SearchSettings(beam=4, n_best=4, coverage_penalty=5.0))
    for before, after in zip(plain, covered, strict=True):
        scores = {each.ids: each.score for each in before}
        assert {each.ids for each in after} == set(scores)
        assert all(each.score <= scores[each.ids] for each in after)
        assert [each.score for each in after] == sorted((each.score for each in after), reverse=True)
    assert [each[0].ids for each in plain] != [each[0].ids for each in covered]
