"""Our parameters as other toolkits read them: each arrives, in the place where it means the same."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.peers.decode import joeynmt, pymarian
from benchmarks.peers.train import toolkit
from saccade.interop.ctranslate2 import parameter_shapes, sinusoids
from saccade.models.settings import TransformerSettings
from saccade.text.tokenizer import BOS, EOS, PAD, UNK

SIZES = {"layers": 1, "decoder_layers": 2, "d_model": 8, "d_feedforward": 12, "num_heads": 2}
MODELS = [
    TransformerSettings(**SIZES),
    TransformerSettings(**SIZES, norm="pre", embeddings="tied"),
    TransformerSettings(**SIZES, activation="swish", embeddings="separate"),
]


def parameters(settings: TransformerSettings) -> dict[str, NDArray[np.float32]]:
    """Every number once, so that it can be found again."""
    num_source = 11 if settings.embeddings == "shared" else 9
    shapes = parameter_shapes(settings, num_source, 11)
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    numbers = np.split(np.arange(1, ends[-1] + 1, dtype=np.float32), ends[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), numbers, strict=True)}


def numbers(arrays: dict[str, NDArray[np.float32]]) -> list[float]:
    return np.unique(np.concatenate([values.ravel() for values in arrays.values()])).tolist()


@pytest.mark.parametrize("settings", MODELS, ids=lambda settings: settings.embeddings)
def test_joey_nmt_has_every_parameter(settings: TransformerSettings):
    ours = parameters(settings)
    theirs = dict(joeynmt.convert_parameters(settings, ours))
    assert numbers(theirs) == numbers(ours)
    projection, d = ours["decoder.1.cross_attention.projection.weight"], settings.d_model
    for name, rows in {"q": slice(d), "k": slice(d, 2 * d), "v": slice(2 * d, None)}.items():
        np.testing.assert_array_equal(theirs[f"decoder.layers.1.src_trg_att.{name}_layer.weight"], projection[rows])
    order = [UNK, PAD, BOS, EOS, *range(4, 11)]
    np.testing.assert_array_equal(theirs["trg_embed.lut.weight"], ours["target_embedding.weight"][order])
    assert (len(theirs["src_embed.lut.weight"]) == 11) == (settings.embeddings == "shared")
    assert ("decoder.layer_norm.weight" in theirs) == (settings.norm == "pre")


@pytest.mark.parametrize("settings", MODELS, ids=lambda settings: settings.embeddings)
def test_marian_has_every_parameter(settings: TransformerSettings):
    ours = parameters(settings)
    theirs = dict(pymarian.convert_parameters(settings, ours, 20))
    tables = {name for name in theirs if "emb" in name.lower() or "logit" in name}
    embedded = {name for name in ours if "embedding" in name}
    layers = {name: values for name, values in theirs.items() if name not in tables}
    assert numbers(layers) == numbers({name: values for name, values in ours.items() if name not in embedded})
    path = (
        "TransformerBatchDecoder->decoder->layers->at(1)->as<marian::nn::TransformerDecoderLayerWithCrossAttention>()"
    )
    keys = ours["decoder.1.cross_attention.projection.weight"][settings.d_model : 2 * settings.d_model]
    np.testing.assert_array_equal(theirs[f"{path}->crossAttentionBlock->crossAttention->kProj->weight"], keys.T)


@pytest.mark.parametrize("settings", MODELS, ids=lambda settings: settings.embeddings)
def test_marian_reads_and_writes_by_our_tables(settings: TransformerSettings):
    """What enters its layers: an embedding and a learned position, or a position alone where the target begins."""
    ours = parameters(settings)
    theirs = dict(pymarian.convert_parameters(settings, ours, 20))
    positions = sinusoids(20, settings.d_model)
    source = ours["target_embedding.weight" if settings.embeddings == "shared" else "source_embedding.weight"]
    target, root = ours["target_embedding.weight"], settings.d_model**0.5

    learned = theirs["TransformerBatchEncoder->encoder->positionEmbedding->embeddings"]
    np.testing.assert_allclose(theirs["encoder_Wemb"][7] + learned[2], root * source[7] + positions[2], rtol=1e-6)
    learned = theirs["TransformerBatchDecoder->decoder->positionEmbedding->embeddings"]
    np.testing.assert_allclose(0.0 + learned[0], root * target[BOS] + positions[0], rtol=1e-6)
    np.testing.assert_allclose(theirs["decoder_Wemb"][7] + learned[1], root * target[7] + positions[1], rtol=1e-6)

    output = ours["output_embedding.weight"] if settings.embeddings == "separate" else target
    np.testing.assert_array_equal(theirs["decoder_ff_logit_out_Wt"], output)
    (bias,) = theirs["decoder_ff_logit_out_b"]
    assert [id for id, value in enumerate(bias) if value] == [PAD, BOS]


def test_marian_never_pads_to_a_multiple_of_four():
    sources = [["a"] * (1 + n * 7 % 13) for n in range(100)]
    groups = list(pymarian.group_rows(sources, 10))
    assert sorted(row for rows in groups for row in rows) == list(range(100))
    for rows in groups:
        assert len(rows) <= 10
        lengths = {len(sources[row]) + 1 for row in rows}
        assert len(lengths) == 1 or not any(length % 4 == 0 for length in lengths)
    assert any(len({len(sources[row]) for row in rows}) == 3 for rows in groups), "others are padded"


@pytest.mark.parametrize(("seconds", "tokens"), [(0.02, 0), (0, 5000)])
def test_a_turn_of_a_toolkit_has_both_its_seconds_and_its_tokens(seconds: float, tokens: int):
    """A toolkit that logs 1e6 tokens/s every millisecond learns from a thousand in each."""

    def rates() -> Iterator[float]:
        while True:
            time.sleep(0.001)
            yield 1e6

    learned, updates, took = toolkit.measure(rates(), seconds=seconds, tokens=tokens)
    assert learned == pytest.approx(1e6 * took)
    assert learned >= tokens
    assert took >= seconds
    assert updates > 1
