"""Both engines are one: the same model, the same text, the same answer, on every make of Transformer."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.contracts.models import SOURCES, TARGETS, Tiny, every_model, loss

from saccade import directory
from saccade.data.batch import collate
from saccade.directory import Description, Direction, ModelDirectory
from saccade.engines import ctranslate2 as module
from saccade.engines.automatic import load_engine
from saccade.engines.ctranslate2 import CTranslate2Engine
from saccade.engines.engine import Engine
from saccade.engines.torch import TorchEngine
from saccade.errors import ModelError
from saccade.models.build import Model
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.search.shortlist import Shortlist
from saccade.text.tokenizer import BOS, PAD
from saccade.training.checkpoint import parameters

TRANSFORMERS = {name: tiny for name, tiny in every_model().items() if name.startswith("transformer")}
SEARCHES = {
    "greedy": SearchSettings(beam=1),
    "beam": SearchSettings(beam=5),
    "n best": SearchSettings(beam=5, n_best=5),
    "plain probabilities": SearchSettings(beam=4, n_best=2, length_penalty=0.0),
    "tight limits": SearchSettings(beam=4, n_best=4, length_penalty=0.6, max_length_factor=0.3, max_length_extra=2),
    "greedy, tight limits": SearchSettings(beam=1, max_length_factor=0.5, max_length_extra=1),
}
Save = Callable[[Tiny, Model], ModelDirectory]


def taught(tiny: Tiny, *, others: float = -12.0) -> Model:
    """A model that has learned to look at its source and to end, with these logits for <pad> and <s>."""
    model = tiny.build().float()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batch = collate(sources(20, 12), sources(20, 12)[::-1])
    for _ in range(60):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    norm = model.decoder_norm if model.settings.norm == "pre" else model.decoder[-1].around_feed_forward.norm
    with torch.no_grad():
        norm.weight[0], norm.bias[0] = 0.0, 1.0
        model.output_weight[:, 0] = 0.0
        model.output_weight[[PAD, BOS]] = 0.0
        model.output_weight[[PAD, BOS], 0] = others
    return model


@pytest.fixture(scope="module")
def save(tmp_path_factory: pytest.TempPathFactory) -> Save:
    def saved(tiny: Tiny, model: Model) -> ModelDirectory:
        path = tmp_path_factory.mktemp("model") / "model"
        description = Description(directions=(Direction(source="de", target="en"),), max_tokens=9, model=tiny.settings)
        directory.save(path, description, tiny.tokenizers(), parameters(model), card="# Tiny\n")
        return ModelDirectory.open(path)

    return saved


@pytest.fixture(scope="module", params=TRANSFORMERS)
def engines(request: pytest.FixtureRequest, save: Save) -> tuple[Engine, Engine]:
    tiny = TRANSFORMERS[request.param]
    opened = save(tiny, taught(tiny))
    return CTranslate2Engine(opened), TorchEngine.load(opened)


def sources(count: int, longest: int = 30) -> list[list[int]]:
    rng = random.Random(1)
    return [[rng.randrange(4, 11) for _ in range(rng.randrange(1, longest))] for _ in range(count)]


def assert_alike(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    def exact(several: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], bool]]]:
        return [[(each.ids, each.finished) for each in hypotheses] for hypotheses in several]

    assert exact(found) == exact(expected)
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4, rel=1e-5)
        assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("search", SEARCHES)
def test_translations_are_alike(engines: tuple[Engine, Engine], search: str):
    given = sources(40)
    found, expected = (engine.translate(given, SEARCHES[search]) for engine in engines)
    assert_alike(found, expected)
    every = list(chain(*found))
    assert len({each.ids for each in every}) > 2, "they depend on the source"
    assert any(each.finished for each in every)
    assert any(not each.finished for each in every) or "tight" not in search


def test_scores_are_alike(engines: tuple[Engine, Engine]):
    given, targets = sources(40), list(reversed(sources(40)))
    targets = [[4 + id % 7 for id in target] for target in targets]
    found, expected = (engine.score([*SOURCES, *given], [*TARGETS, *targets]) for engine in engines)
    assert found == pytest.approx(expected, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("search", SEARCHES)
def test_company_changes_nothing(engines: tuple[Engine, Engine], search: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "BATCH_TOKENS", 100)
    engine, given, done = engines[0], sources(12), []
    together = engine.translate(given, SEARCHES[search], advanced=done.append)
    assert sum(done) == len(given)
    alone = [engine.translate([source], SEARCHES[search])[0] for source in given]
    assert_alike(together, alone)


def test_longer_than_the_table_of_positions(engines: tuple[Engine, Engine]):
    given = [[4, 5, 6, 7] * 300, [5, 4]]
    assert len(given[0]) > module.POSITIONS
    settings = SearchSettings(beam=2, max_length_factor=0.001, max_length_extra=4)
    assert_alike(*(engine.translate(given, settings) for engine in engines))
    targets = [[4], [5] * 2100]
    assert engines[0].score(given, targets) == pytest.approx(engines[1].score(given, targets), rel=1e-5)


def test_nothing_is_translated_by_nothing(engines: tuple[Engine, Engine]):
    """CTranslate2 does not ask the model then; nor does a translator, which keeps blank lines for itself."""
    done: list[int] = []
    nothing, something = engines[0].translate([[], [4]], SearchSettings(beam=2, n_best=2), advanced=done.append)
    assert (sum(done), len(something)) == (2, 2)
    (expected,) = engines[1].score([[]], [[]])
    assert_alike([nothing], [[Hypothesis((), expected, expected, True)]])


def test_no_sources_have_no_translations(engines: tuple[Engine, Engine]):
    for engine in engines:
        assert engine.translate([], SearchSettings()) == []
        assert engine.score([], []) == []


@pytest.mark.parametrize("beam", [1, 3])
def test_what_is_no_text_is_never_written(save: Save, beam: int):
    """A model that likes nothing better than <pad> and <s> must do without, and its probabilities stay its own."""
    tiny = TRANSFORMERS["transformer, post-norm"]
    opened = save(tiny, taught(tiny, others=3.0))
    settings = SearchSettings(beam=beam, n_best=beam, max_length_factor=1.0, max_length_extra=2)
    given = [source for source in SOURCES if source]
    for engine in (CTranslate2Engine(opened), TorchEngine.load(opened)):
        for source, hypotheses in zip(given, engine.translate(given, settings), strict=True):
            assert len(hypotheses) == beam
            assert [each.score for each in hypotheses] == sorted((each.score for each in hypotheses), reverse=True)
            for each in hypotheses:
                assert not {PAD, BOS} & {*each.ids}
                if each.finished:
                    assert each.log_prob == pytest.approx(engine.score([source], [each.ids])[0], abs=1e-4, rel=1e-5)


def test_int8_is_nearly_the_same(save: Save):
    tiny = TRANSFORMERS["transformer, tied"]
    opened = save(tiny, taught(tiny))
    exact = CTranslate2Engine(opened).score(SOURCES, TARGETS)
    found = CTranslate2Engine(opened, compute="int8").score(SOURCES, TARGETS)
    assert found != exact
    assert found == pytest.approx(exact, rel=0.05)


def test_the_search_of_another_penalty_differs(save: Save):
    """The comparison above can fail: the engines are not alike when they are not asked alike."""
    tiny = TRANSFORMERS["transformer, pre-norm"]
    opened = save(tiny, taught(tiny))
    settings, given = SEARCHES["n best"], sources(40)
    found = CTranslate2Engine(opened).translate(given, settings)
    other = TorchEngine.load(opened).translate(given, replace(settings, length_penalty=0.9))
    with pytest.raises(AssertionError):
        assert_alike(found, other)


def test_what_ctranslate2_does_not_know_is_left_to_torch(tmp_path: Path):
    """An SSRU; and a shortlist, which a search must switch off."""
    description = Description(directions=(Direction(source="de", target="en"),), max_tokens=9)
    lists = Shortlist(np.arange(7, dtype=np.int32), np.zeros(14, np.int64), np.zeros(0, np.int32))
    for name, shortlist in (("SSRU", None), ("transformer, post-norm", lists)):
        tiny, path = every_model()[name], tmp_path / name
        learned = parameters(tiny.build().float())
        own = replace(description, model=tiny.settings)
        directory.save(path, own, tiny.tokenizers(), learned, "# Tiny\n", shortlist)
        assert isinstance(load_engine(ModelDirectory.open(path)), TorchEngine)
    with pytest.raises(ModelError, match=r"self-attention only, but that of .* has an SSRU"):
        CTranslate2Engine(ModelDirectory.open(tmp_path / "SSRU"))
    engine = CTranslate2Engine(ModelDirectory.open(path))
    with pytest.raises(ModelError, match=r"does not know the shortlist of .*search\.shortlist = false"):
        engine.translate(SOURCES, SearchSettings())
    free = SearchSettings(shortlist=False)
    assert_alike(
        engine.translate(SOURCES[:2], free), TorchEngine.load(ModelDirectory.open(path)).translate(SOURCES[:2], free)
    )
