"""What is particular to the recurrent models: what their settings build, and sources that are read backwards."""

import pytest
import torch
from tests.nn.padding import padding_mask
from torch import nn

from saccade.data.batch import collate, collate_sources
from saccade.models.recurrent import Recurrent, _reversed_order
from saccade.models.settings import AttentionSettings, RecurrentSettings
from saccade.nn.attention import Attention
from saccade.nn.capture import capture
from saccade.nn.hard import HardAttention
from saccade.nn.normalise import masked_entmax, masked_softmax, masked_sparsemax
from saccade.nn.recurrent import AttendAfter, AttendBefore, FixedVector, NoVector
from saccade.nn.scores import Additive, Cosine, InnerProduct, Location
from saccade.nn.windows import LocalMonotonic, LocalPredictive
from saccade.text.tokenizer import EOS

CLOSE = {"rtol": 0.0, "atol": 1e-12}
BATCH = collate([[4, 5, 6, 7], [8], [7, 6]], [[4], [5, 6], [4, 4, 4]])


def built(attention: dict[str, object] | None = None, **changes: object) -> Recurrent:
    torch.manual_seed(1)
    settings = RecurrentSettings(
        **{"d_model": 8, "dropout": 0.0} | changes,  # type: ignore[arg-type]
        attention=AttentionSettings(**attention or {}),  # type: ignore[arg-type]
    )
    return Recurrent(settings, 9, 9).double().eval()


def test_a_source_is_reversed_before_its_end_and_its_padding():
    """Of five tokens the fifth is the end: 3 2 1 0 4; of three 1 0 2; of the end alone, and of nothing, all stays."""
    order = _reversed_order(padding_mask(torch.tensor([5, 3, 1, 2, 0]), 5))
    assert order.tolist() == [[3, 2, 1, 0, 4], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_reversed_twice_is_as_it_was():
    order = _reversed_order(padding_mask(torch.arange(8), 7))
    assert torch.equal(order.gather(1, order), torch.arange(7).expand(8, 7))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_reading_backwards_is_reading_what_was_turned_around(cell: str):
    """The states come back in the order of the source, so that weights point at what was meant."""
    backwards, forwards = (
        built(bidirectional=False, reverses_source=reverses, cell=cell) for reverses in (True, False)
    )
    forwards.load_state_dict(backwards.state_dict())
    found = backwards.encode(BATCH)
    turned = collate_sources([[7, 6, 5, 4], [8], [6, 7]])
    assert turned.source[0].tolist() == [7, 6, 5, 4, EOS]
    expected = forwards.encode(turned)
    torch.testing.assert_close(found.last.hidden, expected.last.hidden, **CLOSE)
    for row, order in enumerate(([3, 2, 1, 0, 4], [0, 1], [1, 0, 2])):
        torch.testing.assert_close(found.states[row, : len(order)], expected.states[row, order], **CLOSE)
    assert not torch.allclose(found.states[0], forwards.encode(BATCH).states[0])


def test_embeddings_are_scaled_by_the_root_of_d():
    model, read = built(embeddings="separate"), {}
    model.encoder.register_forward_pre_hook(lambda _, given: read.update(source=given[0]))
    model.decoder.register_forward_pre_hook(lambda _, given: read.update(target=given[0]))
    model(BATCH)
    torch.testing.assert_close(read["source"], model.source_embedding.weight[BATCH.source] * 8**0.5, **CLOSE)
    torch.testing.assert_close(read["target"], model.target_embedding.weight[BATCH.prefix] * 8**0.5, **CLOSE)


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        ("additive", Additive),
        ("dot", InnerProduct),
        ("scaled-dot", InnerProduct),
        ("general", InnerProduct),
        ("cosine", Cosine),
        ("location", Location),
    ],
)
@pytest.mark.parametrize("attend", ["before", "after"])
def test_a_decoder_has_the_score_it_was_given(attend: str, score: str, kind: type):
    decoder = built({"score": score, "num_positions": 7}, attend=attend).decoder
    assert type(decoder) is (AttendBefore if attend == "before" else AttendAfter)
    own = decoder.cross_attention.score
    assert type(own) is kind
    assert (score == "general") == isinstance(getattr(own, "key_map", None), nn.Linear)
    assert getattr(own, "scale", 1.0) == pytest.approx(8**-0.5 if score == "scaled-dot" else 1.0)
    if score == "location":
        assert own.of_position.out_features == 7
        assert not own.truncates


@pytest.mark.parametrize(
    ("name", "function"), [("softmax", masked_softmax), ("sparsemax", masked_sparsemax), ("entmax", masked_entmax)]
)
def test_a_decoder_normalises_as_it_was_told(name: str, function: object):
    attention = built({"normalise": name}).decoder.cross_attention
    assert attention.normalise is function
    assert attention.windows is None


def test_a_decoder_looks_where_it_was_told():
    monotonic = built({"positions": "local-m", "window": 3, "gaussian": True}, attend="after")
    windows = monotonic.decoder.cross_attention.windows
    assert isinstance(windows, LocalMonotonic)
    assert (windows.reach, windows.gaussian) == (3, True)
    predictive = built({"positions": "local-p", "window": 4}, attend="after").decoder.cross_attention.windows
    assert isinstance(predictive, LocalPredictive)
    assert predictive.reach == 4
    hard = built({"positions": "hard", "sampling": 0.7}).decoder.cross_attention
    assert isinstance(hard, HardAttention)
    assert hard.sampling == 0.7
    assert isinstance(built().decoder.cross_attention, Attention)


@pytest.mark.parametrize(("bidirectional", "d_forward"), [(True, 4), (False, 8)])
def test_without_attention_there_is_a_fixed_vector_or_none(bidirectional: bool, d_forward: int):
    fixed = built({"positions": "fixed"}, bidirectional=bidirectional).decoder
    assert isinstance(fixed.cross_attention, FixedVector)
    assert fixed.cross_attention.d_forward == d_forward
    assert not fixed.loops
    none = built({"positions": "none"}, bidirectional=bidirectional).decoder
    assert isinstance(none.cross_attention, NoVector)
    assert none.recurrence.stack.input_size == 8
    assert built().decoder.loops


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_settings_of_the_decoder_are_heeded(cell: str):
    model = built(cell=cell, layers=2, readout="maxout")
    for stack in (model.encoder.stack, model.decoder.recurrence.stack):
        assert type(stack) is {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}[cell]
        assert stack.num_layers == 2
    assert model.encoder.stack.bidirectional
    assert model.decoder.readout.maxout
    assert built(attend="after", input_feeding=True).decoder.feeds
    assert not built(attend="after").decoder.feeds


def test_only_hard_attention_tells_of_chance():
    assert built().learn(BATCH).log_prob is None
    hard = built({"positions": "hard", "sampling": 1.0}).train()
    learned = hard.learn(BATCH)
    assert learned.log_prob.shape == learned.entropy.shape == BATCH.target.shape
    assert bool((learned.log_prob < 0).any())
    assert bool((learned.entropy > 0).any())


def test_nothing_was_said_before_the_first_step():
    model = built(attend="after", input_feeding=True)
    state = model.start(model.encode(BATCH))
    assert not state.feed.any()
    assert state.feed.shape == (3, 8)
    assert state.position == 0


def test_weights_have_the_name_of_the_decoder():
    model = built()
    with capture(model) as heard:
        model.step(torch.tensor([4, 5, 6]), model.start(model.encode(BATCH)))
    assert list(heard.weights) == ["decoder.cross_attention"]
    assert [tuple(each.shape) for each in heard.weights["decoder.cross_attention"]] == [(3, 1, 1, 5)]
