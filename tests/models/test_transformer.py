"""What is particular to the Transformer; what holds for every model is in the contracts."""

import pytest
import torch
from torch import nn

from saccade.data.batch import collate
from saccade.models.settings import TransformerSettings
from saccade.models.transformer import Transformer
from saccade.nn.positions import sinusoids

SIZES = {"layers": 2, "d_model": 8, "d_feedforward": 12, "num_heads": 2, "dropout": 0.0}
BATCH = collate([[4, 5, 6], [7]], [[4], [5, 6]])


def test_the_base_model_has_as_many_parameters_as_counted_by_hand():
    """Attention has 4 · (512² + 512) = 1,050,624, feed-forward 2 · 512 · 2048 + 2048 + 512 = 2,099,712, a norm 1024.

    Six encoder layers of one attention and two norms, six decoder layers of two attentions and three norms:
    6 · (3,152,384 + 4,204,032) = 44,138,496. One table of 37,000 · 512 = 18,944,000 tokens: 63,082,496 in all,
    for which the paper says 65 million (table 3).
    """
    with torch.device("meta"):
        model = Transformer(TransformerSettings(), 37_000, 37_000)
    assert sum(parameter.numel() for parameter in model.parameters()) == 63_082_496


@pytest.mark.parametrize(
    ("embeddings", "tables"),
    [
        ("shared", ["target_embedding"]),
        ("tied", ["target_embedding", "source_embedding"]),
        ("separate", ["target_embedding", "source_embedding", "output_embedding"]),
    ],
)
def test_tables_are_shared_as_the_setting_says(embeddings: str, tables: list[str]):
    model = Transformer(TransformerSettings(**SIZES, embeddings=embeddings), 9, 9)
    names = [name for name, _ in model.named_parameters() if "embedding" in name]
    assert names == [f"{table}.weight" for table in tables]
    assert model.output_weight is getattr(model, tables[-1] if embeddings == "separate" else tables[0]).weight


def test_layers_read_embeddings_scaled_by_the_root_of_d_plus_positions():
    model = Transformer(TransformerSettings(**SIZES, embeddings="separate"), 9, 9).eval()
    read = {}
    for side, stack in (("source", model.encoder), ("target", model.decoder)):
        first = stack[0].self_attention.projection
        first.register_forward_pre_hook(lambda _, given, side=side: read.update({side: given[0]}))
    model(BATCH)
    for side, embedding, ids in (
        ("source", model.source_embedding, BATCH.source),
        ("target", model.target_embedding, BATCH.prefix),
    ):
        expected = embedding.weight[ids] * 8**0.5 + sinusoids(ids.shape[1], 8)
        torch.testing.assert_close(read[side], expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_both_stacks_leave_normalised_states(norm: str):
    """Pre-norm leaves them as they come, so a last norm follows each stack; post-norm needs none."""
    model = Transformer(TransformerSettings(**SIZES, norm=norm), 9, 9).double().eval()
    for states in (model.encode(BATCH).keys, model(BATCH)):
        torch.testing.assert_close(states.mean(dim=-1), torch.zeros_like(states[..., 0]), rtol=0.0, atol=1e-10)
        torch.testing.assert_close(
            states.var(dim=-1, correction=0), torch.ones_like(states[..., 0]), rtol=0.0, atol=1e-3
        )
    assert isinstance(model.decoder_norm, nn.LayerNorm) == (norm == "pre")


def test_the_decoder_may_have_fewer_layers():
    model = Transformer(TransformerSettings(**SIZES, decoder_layers=1), 9, 9)
    assert (len(model.encoder), len(model.decoder)) == (2, 1)


def test_decoding_goes_on_past_the_cached_positions():
    """Five steps from a table of two positions are teacher forcing still."""
    torch.manual_seed(1)
    model = Transformer(TransformerSettings(**SIZES), 9, 9).double().eval()
    batch = collate([[4, 5, 6]], [[4, 5, 6, 7]])
    expected = model.logits(model(batch)).log_softmax(dim=-1)
    model.positions.table = model.positions.table[:2]
    state = model.start(model.encode(batch))
    for position, last in enumerate(batch.prefix.T):
        said, state = model.step(last, state)
        torch.testing.assert_close(said, expected[:, position], rtol=0.0, atol=1e-10)
    assert state.length == 5


def test_an_output_bias_is_added_to_the_logits_and_learned_with_them():
    """`readout`, which training differentiates, is another way to write the same logits."""
    model = Transformer(TransformerSettings(**SIZES, output_bias=True), 9, 9)
    bias = model.output_bias
    assert bias is not None
    assert not bias.any(), "before training, every token is as likely as without"
    nn.init.normal_(bias)
    hidden = model(BATCH)
    states, output = model.readout(hidden)
    torch.testing.assert_close(model.logits(hidden), hidden @ model.output_weight.T + bias)
    torch.testing.assert_close(states @ output.T, model.logits(hidden))
    (states @ output.T)[..., 5].sum().backward()
    assert bias.grad is not None
    assert bias.grad.tolist() == [0, 0, 0, 0, 0, 6, 0, 0, 0], "two targets of three positions"


def test_without_an_output_bias_nothing_is_copied():
    model = Transformer(TransformerSettings(**SIZES), 9, 9)
    hidden = model(BATCH)
    states, output = model.readout(hidden)
    assert (states is hidden, output is model.output_weight) == (True, True)


def test_rows_of_a_sentence_share_its_source():
    model = Transformer(TransformerSettings(**SIZES), 9, 9).eval()
    state = model.pick(model.start(model.encode(BATCH)), torch.tensor([0, 0, 0, 1, 1, 1]))
    assert (len(state.source[0].keys), state.width) == (2, 3)
    reordered = model.pick(state, torch.tensor([2, 0, 2, 3, 3, 5]))
    assert reordered.source is state.source, "nothing is copied while all sentences go on"
    second = model.pick(reordered, torch.tensor([3, 5]))
    assert (len(second.source[0].keys), second.width) == (1, 2)


@torch.inference_mode()
def test_rows_may_be_picked_in_any_way():
    """Each row says what it would say alone, whether or not the rows of its sentence stand together."""
    torch.manual_seed(1)
    model = Transformer(TransformerSettings(**SIZES), 9, 9).double().eval()

    def alone(sentence: int, written: list[int]) -> torch.Tensor:
        one = collate([[[4, 5, 6], [7]][sentence]], [[]])
        state = model.start(model.encode(one))
        for token in written:
            said, state = model.step(torch.tensor([token]), state)
        return said[0]

    rows = [(0, []), (1, [])]
    state = model.start(model.encode(BATCH))
    for step, picked in enumerate([[0, 0, 1, 1], [1, 0, 2, 2], [0, 1, 1, 3], [3, 0, 1, 2, 0], [4, 1], [0, 0]]):
        state = model.pick(state, torch.tensor(picked))
        last = [4 + (place + step) % 5 for place in range(len(picked))]
        rows = [(rows[row][0], [*rows[row][1], token]) for row, token in zip(picked, last, strict=True)]
        said, state = model.step(torch.tensor(last), state)
        torch.testing.assert_close(said, torch.stack([alone(*row) for row in rows]), rtol=0.0, atol=1e-12)
