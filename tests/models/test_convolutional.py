"""What is particular to the convolutional model; what holds for every model is in the contracts."""

import pytest
import torch

from saccade.data.batch import collate
from saccade.models.convolutional import Convolutional
from saccade.models.settings import ConvolutionalSettings
from saccade.nn.capture import capture
from saccade.nn.positions import sinusoids

SIZES = {"layers": 2, "d_model": 8, "dropout": 0.0}
BATCH = collate([[4, 5, 6], [7]], [[4], [5, 6]])
CLOSE = {"rtol": 0.0, "atol": 1e-12}


def built(**changes: object) -> Convolutional:
    torch.manual_seed(1)
    return Convolutional(ConvolutionalSettings(**SIZES | changes), 9, 9).double().eval()  # type: ignore[arg-type]


def test_the_base_model_has_as_many_parameters_as_counted_by_hand():
    """A convolution of width 3 has 3 · 512 · 1024 + 1024 = 1,573,888, a matrix with its bias 512² + 512 = 262,656.

    Fifteen encoder layers of one convolution, fifteen decoder layers of one and two matrices, and one matrix before
    the output: 15 · 1,573,888 + 15 · 2,099,200 + 262,656 = 55,358,976. One table of 40,000 · 512 = 20,480,000 tokens.
    """
    base = ConvolutionalSettings(**ConvolutionalSettings.PRESETS["base"])
    with torch.device("meta"):
        model = Convolutional(base, 40_000, 40_000)
    assert sum(parameter.numel() for parameter in model.parameters()) == 55_358_976 + 20_480_000


def embedded(table: torch.nn.Embedding, ids: torch.Tensor) -> torch.Tensor:
    """The table as it is, small; and positions as small as it."""
    return table.weight[ids] + sinusoids(ids.shape[1], 8).double() / 8**0.5


def test_layers_read_small_embeddings_plus_positions_as_small():
    model, read = built(embeddings="separate"), {}
    model.encoder[0].register_forward_pre_hook(lambda _, given: read.update(source=given[0]))
    model.decoder[0].register_forward_pre_hook(lambda _, given: read.update(target=given[0], asks=given[1]))
    model.decoder[1].register_forward_pre_hook(lambda _, given: read.update(asks_again=given[1]))
    model(BATCH)
    torch.testing.assert_close(read["source"], embedded(model.source_embedding, BATCH.source), **CLOSE)
    for name in ("target", "asks", "asks_again"):
        torch.testing.assert_close(read[name], embedded(model.target_embedding, BATCH.prefix), **CLOSE)


def test_what_is_read_is_the_meaning_and_the_word():
    """Values are (z + e)√½ · √m: the embedding e is that of the source itself, with its position."""
    model = built()
    memory, words = model.encode(BATCH), embedded(model.source_embedding, BATCH.source)
    for row, m in enumerate((4, 2)):
        expected = (memory.keys[row] + words[row]) * (0.5 * m) ** 0.5
        torch.testing.assert_close(memory.values[row, :m], expected[:m], **CLOSE)


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_state_keeps_as_many_inputs_as_the_kernel_reaches_back(kernel: int):
    model = built(kernel=kernel, decoder_layers=3)
    state = model.start(model.encode(BATCH))
    assert [tuple(inputs.shape) for inputs in state.inputs] == [(2, kernel - 1, 8)] * 3
    assert not any(inputs.any() for inputs in state.inputs)
    for length in range(1, 4):
        _, state = model.step(torch.tensor([4, 5]), state)
        assert state.length == length
        assert [tuple(inputs.shape) for inputs in state.inputs] == [(2, kernel - 1, 8)] * 3


def test_every_decoder_layer_attends():
    model = built(decoder_layers=3)
    assert (len(model.encoder), len(model.decoder)) == (2, 3)
    with capture(model) as heard:
        model.step(torch.tensor([4, 5]), model.start(model.encode(BATCH)))
    assert list(heard.weights) == [f"decoder.{layer}.cross_attention" for layer in range(3)]
