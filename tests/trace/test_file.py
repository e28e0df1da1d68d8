import json

import numpy as np
import pytest

from saccade.errors import DataError
from saccade.trace.file import from_json, load, load_all, save, save_all, to_json
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens


def example(**changes):
    random = np.random.default_rng(1)
    weights = random.dirichlet(np.ones(3), (2, 2)).astype(np.float32)
    given = {
        "source": Tokens(("▁我", "喜欢", "</s>"), "我喜欢", ((0, 1), (1, 3), (3, 3))),
        "target": Tokens(("<b>", "\u202eabc")),
        "layers": (Layer("decoder.0.cross_attention", "cross", weights),),
        "model": "toy",
        "score": -0.5,
        "log_prob": -1.0,
        "token_log_probs": (-0.25, -0.75),
    }
    return AttentionTrace(**given | changes)


def test_what_was_saved_is_loaded(tmp_path):
    trace = example()
    save(trace, tmp_path / "trace.json")
    found = load(tmp_path / "trace.json")
    for name in ("source", "target", "model", "score", "log_prob", "token_log_probs", "image"):
        assert getattr(found, name) == getattr(trace, name)
    assert [(layer.name, layer.kind) for layer in found.layers] == [("decoder.0.cross_attention", "cross")]
    assert np.allclose(found.layers[0].weights, trace.layers[0].weights, atol=2**-11, rtol=2**-11)


def test_several_go_into_one_file_in_order(tmp_path):
    save_all([example(score=-1.0), example(score=-2.0)], tmp_path / "traces.json")
    assert [trace.score for trace in load_all(tmp_path / "traces.json")] == [-1.0, -2.0]
    assert load(tmp_path / "traces.json").score == -1.0
    save_all([example()], tmp_path / "one.json")
    assert isinstance(json.loads((tmp_path / "one.json").read_text("utf-8")), dict)
    assert len(load_all(tmp_path / "one.json")) == 1


def test_json_that_every_language_reads_has_no_infinity():
    table = to_json(example(score=float("-inf")))
    assert table["score"] is None
    json.dumps(table, allow_nan=False)


def test_an_image_goes_along(tmp_path):
    weights = np.full((1, 2, 6), 1 / 6)
    for picture in (Picture(2, 3, "data:x"), Picture(2, 3, "data:x", 0.75)):
        trace = example(source=Tokens(()), layers=(Layer("look", "image", weights),), image=picture)
        table = json.loads(json.dumps(to_json(trace)))
        assert from_json(table).image == picture
        del table["image"]["form"]
        assert from_json(table).image == Picture(2, 3, "data:x"), "as it was written before there was a form"


def test_six_layers_of_eight_heads_and_sixty_tokens_stay_below_two_megabytes():
    tokens, weights = Tokens(("token",) * 60), np.full((8, 60, 60), 1 / 60, np.float32)
    layers = [Layer(f"{kind}.{at}", kind, weights) for kind in ("cross", "encoder", "decoder") for at in range(6)]
    trace = AttentionTrace(source=tokens, target=tokens, layers=tuple(layers))
    assert len(json.dumps(to_json(trace))) < 2_000_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "must be a trace that saccade wrote"),
        ({"version": 2}, "must be of version 1, but it is of version 2"),
        ({"layers": [{"name": "a"}]}, "damaged: 'kind'"),
        ({"layers": [{"name": "a", "kind": "odd"}]}, "odd is not a kind of attention"),
        ({"target": {"tokens": ["a"]}, "token_log_probs": None}, "here some × 1 × 3, but their shape is"),
    ],
)
def test_what_is_no_trace_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        from_json(to_json(example()) | change)


def test_a_file_that_is_not_json_is_refused(tmp_path):
    path = tmp_path / "trace.json"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(DataError, match="must be a JSON file"):
        load(path)
