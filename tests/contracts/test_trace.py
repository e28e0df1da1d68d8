"""What a trace shows is what the search did: for every model, beam 5, every hypothesis, layer and head."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.contracts.models import SOURCES, TARGETS, every_model, taught_model

from saccade.data.batch import collate_sources
from saccade.directory import Description, Direction, ModelDirectory
from saccade.engines import torch as engines
from saccade.engines.torch import TorchEngine
from saccade.errors import DataError, ModelError
from saccade.models.build import Model
from saccade.nn.capture import capture
from saccade.search.problem import SearchProblem
from saccade.search.search import search
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import BOS, EOS, PAD
from saccade.trace.trace import Tokens
from saccade.translator import Translator

ATTENDING = [name for name, tiny in every_model().items() if tiny.settings.attends]
BEAM_5 = SearchSettings(beam=5, n_best=5, max_length_extra=4)  # so short that some are cut off
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}


class Witness:
    """A model that a search can use, and that notes what it attends to after every prefix that the search tries."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.seen: dict[tuple[int, tuple[int, ...]], dict[str, torch.Tensor]] = {}

    def start(self, memory):
        return self.model.start(memory), None

    def step(self, last, state):
        inner, prefixes = state
        if prefixes is None:
            prefixes = [(sentence, ()) for sentence in range(len(last))]
        prefixes = [(sentence, (*prefix, id)) for (sentence, prefix), id in zip(prefixes, last.tolist(), strict=True)]
        with capture(self.model) as heard:
            log_probs, inner = self.model.step(last, inner)
        for row, prefix in enumerate(prefixes):
            self.seen[prefix] = {name: weights[row, :, 0] for name, (weights,) in heard.weights.items()}
        return log_probs, (inner, prefixes)

    def pick(self, state, rows):
        inner, prefixes = state
        return self.model.pick(inner, rows), [prefixes[row] for row in rows.tolist()]


def translator(name: str, model: Model) -> Translator:
    tiny = every_model()[name]
    description = Description(directions=(Direction(source="en", target="de"),), max_tokens=9, model=tiny.settings)
    return Translator(ModelDirectory(Path("runs/tiny/model"), description, tiny.tokenizers()), TorchEngine(model))


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("name", ATTENDING)
def test_a_trace_holds_the_weights_that_the_search_saw(name: str, dtype: torch.dtype):
    model = deepcopy(taught_model(name)).to(dtype)
    witness, engine = Witness(model), TorchEngine(model)
    limits = torch.tensor([BEAM_5.limit(len(source)) for source in SOURCES])
    with torch.inference_mode():
        memory = model.encode(collate_sources(SOURCES))
    problem = SearchProblem(model=witness, memory=memory, limits=limits, bos=BOS, eos=EOS, banned=(PAD, BOS))
    found = [
        (sentence, hypothesis) for sentence, several in enumerate(search(problem, BEAM_5)) for hypothesis in several
    ]
    assert len({(sentence, hypothesis.ids) for sentence, hypothesis in found}) > 3 * len(SOURCES)

    traced = engine.trace([SOURCES[sentence] for sentence, _ in found], [each.ids for _, each in found])
    for (sentence, hypothesis), whole in zip(found, traced, strict=True):
        written = len(hypothesis.ids) + hypothesis.finished
        trace = whole.first(written)
        assert sum(trace.token_log_probs) == pytest.approx(hypothesis.log_prob, abs=CLOSE[dtype] * written)
        steps = [witness.seen[sentence, (BOS, *hypothesis.ids[:step])] for step in range(written)]
        layers = {layer.name: layer for layer in trace.layers if layer.kind != "encoder"}
        assert layers.keys() == steps[0].keys()
        for layer_name, layer in layers.items():
            for step, seen in enumerate(steps):
                looked = torch.from_numpy(layer.weights)[:, step]
                real = step + 1 if layer.kind == "decoder" else len(SOURCES[sentence]) + 1
                expected = seen[layer_name][:, :real]
                torch.testing.assert_close(looked[:, :real], expected, rtol=0.0, atol=CLOSE[dtype])
                assert not looked[:, real:].any(), "nothing that comes later can be seen"


@pytest.mark.parametrize("name", ATTENDING)
def test_texts_and_scores_are_the_same_with_and_without_attention(name: str):
    translate = translator(name, deepcopy(taught_model(name)).float()).translate
    texts = ["abcde", "", "f", "hgabcab", "ee"]
    plain = translate(texts, search=BEAM_5)
    asked = translate(texts, search=BEAM_5, attention=True)
    assert plain == asked
    assert all(each.attention is None for best in plain for each in (best, *best.alternatives))
    for best in asked:
        for each in (best, *best.alternatives):
            if not best.source:
                assert each.attention is None
                continue
            trace = each.attention
            assert (trace.source.text, trace.target.text, trace.model) == (each.source, each.text, "tiny")
            assert (trace.score, trace.log_prob) == (each.score, each.log_prob)
            assert sum(trace.token_log_probs) == pytest.approx(each.log_prob, abs=1e-5 * len(trace.target))
            assert trace.target.tokens[: len(each.tokens)] == each.tokens


@pytest.mark.parametrize("name", ATTENDING)
def test_every_kind_of_attention_is_there(name: str):
    (trace,) = TorchEngine(taught_model(name)).trace(SOURCES[:1], TARGETS[:1])
    settings = every_model()[name].settings
    depth = 1 if settings.kind == "recurrent" else settings.num_decoder_layers
    wanted = ["cross"] * depth
    if settings.kind == "transformer":
        wanted += ["decoder"] * depth * (settings.decoder == "attention") + ["encoder"] * settings.layers
    assert sorted(layer.kind for layer in trace.layers) == wanted
    heads = settings.num_heads if settings.kind == "transformer" else 1
    assert {layer.num_heads for layer in trace.layers} == {heads}


@pytest.mark.parametrize("name", ATTENDING)
def test_traces_keep_their_order_and_need_no_company(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "TRACE_TOKENS", 12)  # several batches
    engine = TorchEngine(taught_model(name))
    done: list[int] = []
    together = engine.trace(SOURCES, TARGETS, advanced=done.append)
    assert sum(done) == len(SOURCES)
    assert len(done) > 1
    scores = engine.score(SOURCES, TARGETS)
    for source, target, trace, score in zip(SOURCES, TARGETS, together, scores, strict=True):
        (alone,) = engine.trace([source], [target])
        assert trace.token_log_probs == pytest.approx(alone.token_log_probs, abs=1e-10)
        assert sum(trace.token_log_probs) == pytest.approx(score, abs=1e-10)
        for one, other in zip(trace.layers, alone.layers, strict=True):
            assert (one.name, one.kind, one.weights.shape) == (other.name, other.kind, other.weights.shape)
            np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-10)
    assert engine.trace([], []) == []


@pytest.mark.parametrize("name", [name for name in every_model() if name not in ATTENDING])
def test_what_has_no_attention_refuses_before_it_searches(name: str, monkeypatch: pytest.MonkeyPatch):
    blind = translator(name, taught_model(name))
    monkeypatch.setattr(engines, "search", None)
    for ask in (lambda: blind.translate("abc", attention=True), lambda: blind.trace("abc", "abc")):
        with pytest.raises(ModelError, match="has no attention: its decoder reads the source as one vector"):
            ask()


def test_known_pairs_are_traced_by_their_texts():
    name = ATTENDING[0]
    own = translator(name, taught_model(name))
    sources, targets = ["abc", " hg  ab"], ["fed", ""]
    tokenizers = own.directory.tokenizers
    plain = own.engine.trace(tokenizers.source.encode_many(sources), tokenizers.target.encode_many(targets))
    found = own.trace(sources, targets)
    for trace, expected in zip(found, plain, strict=True):
        assert (trace.score, trace.log_prob) == (None, pytest.approx(sum(expected.token_log_probs)))
        assert trace.token_log_probs == expected.token_log_probs
        weights = {layer.name: layer.weights for layer in trace.layers}
        assert all(np.array_equal(weights[layer.name], layer.weights) for layer in expected.layers)
    assert found[0].target == Tokens(("▁", "f", "e", "d", "</s>"), "fed", ((0, 0), (0, 1), (1, 2), (2, 3), (3, 3)))
    assert found[1].source.text == "hg ab"
    assert found[1].target == Tokens(("</s>",), "", ((0, 0),))

    one = own.trace("abc", "fed", kinds=["cross"])
    assert one.kinds == ("cross",)
    np.testing.assert_allclose(one.matrix(), found[0].matrix(), rtol=0, atol=1e-10)
    with pytest.raises(DataError, match="Every source must have one target, but there are 2 sources and 1 targets"):
        own.trace(["a", "b"], ["a"])
