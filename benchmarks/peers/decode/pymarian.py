"""Marian through pymarian's Translator, with our parameters: batches of similar lengths, a thread for each core.

Marian begins with a vector of zeros where we begin with `<s>`, and its sinusoids have other frequencies than the
paper's. Both are settled by learned positions, which hold our sinusoids and, first of the target's, our `<s>`. They and
pre-norm in the decoder ask for the newer of its two Transformers, `transformer-new`. On a CPU this one translates
sentences wrongly that it had to pad to a multiple of four tokens (there, its mask is NaN and not −∞), so that we choose
what goes into a batch.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.decoding.turn import DecodePieces, take_turns, with_pieces
from benchmarks.decoding.work import DecodingWork, embedding_names
from benchmarks.training.work import BOS, PAD
from benchmarks.turns import Turns
from saccade.models.settings import TransformerSettings

Arrays = Iterator[tuple[str, np.ndarray]]

BATCH = 64
FACTOR = 3
"""A translation has at most this many times the tokens of the longest source in its batch; Marian's own default."""
NEVER = -1e4
"""As a bias: what Marian has no word for is never written."""
STACKS = {
    "encoder": ("TransformerBatchEncoder->encoder", "TransformerEncoderLayer"),
    "decoder": ("TransformerBatchDecoder->decoder", "TransformerDecoderLayerWithCrossAttention"),
}
"""What Marian calls a stack, and each of its layers."""
WIDEN_NARROW = {
    "relu": ("at(0)->as<marian::nn::LinearReluDropout>()", "at(1)->as<marian::nn::Linear>()"),
    "swish": ("at(0)->as<marian::nn::Linear>()", "at(3)->as<marian::nn::Linear>()"),
}
"""The two products of a feed-forward layer by its activation; Marian's gelu is not ours."""


def decoder(work: DecodingWork) -> DecodePieces:
    """pymarian's Translator, whose threads search a batch each."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # of each of Marian's own threads
    from pymarian import Translator

    longest = max(len(text.encode()) for text in work.sources) + 2  # a piece a byte at most, a blank before, the end
    model = work.directory / "marian.npz"
    save(work, model, FACTOR * longest)
    vocabularies = [work.directory / f"marian.{side}.json" for side in ("source", "target")]
    for side, file in zip(("source", "target"), vocabularies, strict=True):
        ids = {piece: id for id, piece in enumerate(work.vocabulary(side))}
        file.write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    settings = {
        "models": model,
        "vocabs": " ".join(map(str, vocabularies)),
        "normalize": 1,
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
        "max-length": FACTOR * longest,
        "max-length-factor": FACTOR,
        "cpu-threads": work.threads,
        "log-level": "error",
    }
    words = [f"--{name} {value}" for name, value in settings.items()]
    translator = Translator(" ".join([*words, "--allow-unk", "--quiet-translation"]))

    def decode(sources: list[list[str]], beam: int) -> list[list[str]]:
        translations: dict[int, list[str]] = {}
        for rows in group_rows(sources, BATCH * work.threads):
            lines = [" ".join(sources[row]) for row in rows]
            size = ceil(len(rows) / work.threads)
            written = translator.translate(lines, beam_size=beam, mini_batch=size)
            translations |= zip(rows, (line.split(" ") for line in written), strict=True)
        return [translations[row] for row in range(len(sources))]

    return decode


def group_rows(sources: list[list[str]], size: int) -> Iterator[list[int]]:
    """Rows that may be padded to each other's lengths, at most `size` together."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for row, pieces in enumerate(sources):
        length = len(pieces) + 1  # with its end
        groups.setdefault((length // 4, length % 4 == 0), []).append(row)
    for rows in groups.values():
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def save(work: DecodingWork, file: Path, num_positions: int) -> None:
    """Write the model as Marian reads it."""
    from safetensors.numpy import load_file

    settings, ours = work.settings, load_file(work.parameters)
    if settings.activation not in WIDEN_NARROW:
        raise SystemExit(f"Marian has {' and '.join(WIDEN_NARROW)}, but this model has {settings.activation}.")
    parameters = convert_parameters(settings, ours, num_positions)
    arrays = {name: np.ascontiguousarray(values, np.float32) for name, values in parameters}
    sizes = [len(work.vocabulary("source")), len(work.vocabulary("target"))]
    text = json.dumps(config(settings, sizes)).encode() + b"\0"  # JSON is YAML, too
    np.savez(file, **arrays, **{"special:model.yml": np.frombuffer(text, np.int8)})


def config(settings: TransformerSettings, sizes: list[int]) -> dict[str, Any]:
    """What Marian has to know of the model; it asks for what does not concern this one as well."""
    is_pre = settings.norm == "pre"
    return {
        "type": "transformer-new",
        "dim-vocabs": sizes,
        "dim-emb": settings.d_model,
        "enc-depth": settings.layers,
        "dec-depth": settings.num_decoder_layers,
        "transformer-heads": settings.num_heads,
        "transformer-dim-ffn": settings.d_feedforward,
        "transformer-ffn-activation": settings.activation,
        "transformer-preprocess": "n" if is_pre else "",
        "transformer-postprocess": "a" if is_pre else "an",
        "transformer-postprocess-top": "n" if is_pre else "",
        "transformer-postprocess-emb": "",
        "transformer-train-position-embeddings": True,
        "transformer-decoder-dim-ffn": 0,
        "transformer-decoder-ffn-depth": 0,
        "tied-embeddings": False,
        "tied-embeddings-src": False,
        "tied-embeddings-all": False,
    }


def convert_parameters(settings: TransformerSettings, ours: Mapping[str, np.ndarray], num_positions: int) -> Arrays:
    """Our parameters by Marian's names: matrices transposed, and one each for queries, keys and values."""
    yield from tables(settings, ours, num_positions)
    attentions = {
        "encoder": [("self_attention", "around_attention", "selfAttentionBlock", "selfAttention")],
        "decoder": [
            ("self_attention", "around_self", "autoRegressiveBlock", "selfAttention"),
            ("cross_attention", "around_cross", "crossAttentionBlock", "crossAttention"),
        ],
    }
    place = "preprocessor" if settings.norm == "pre" else "postprocessor"

    def norm(theirs: str, mine: str) -> Arrays:
        yield f"{theirs}->norm->weight", ours[f"{mine}.weight"]
        yield f"{theirs}->norm->bias", ours[f"{mine}.bias"]

    def linear(theirs: str, mine: str, rows: slice = slice(None)) -> Arrays:
        yield f"{theirs}->weight", ours[f"{mine}.weight"][rows].T
        yield f"{theirs}->bias", ours[f"{mine}.bias"][rows]

    for stack, count in (("encoder", settings.layers), ("decoder", settings.num_decoder_layers)):
        path, kind = STACKS[stack]
        for number in range(count):
            theirs, mine = f"{path}->layers->at({number})->as<marian::nn::{kind}>()", f"{stack}.{number}"
            for attention, around, block, layer in attentions[stack]:
                for part, name in enumerate("qkv"):
                    rows = slice(part * settings.d_model, (part + 1) * settings.d_model)
                    yield from linear(f"{theirs}->{block}->{layer}->{name}Proj", f"{mine}.{attention}.projection", rows)
                yield from linear(f"{theirs}->{block}->{layer}->oProj", f"{mine}.{attention}.output")
                yield from norm(f"{theirs}->{block}->{place}", f"{mine}.{around}.norm")
            for layer, name in zip(WIDEN_NARROW[settings.activation], ("widen", "narrow"), strict=True):
                yield from linear(f"{theirs}->filterBlock->layers->{layer}", f"{mine}.feed_forward.{name}")
            yield from norm(f"{theirs}->filterBlock->{place}", f"{mine}.around_feed_forward.norm")
        if settings.norm == "pre":
            yield from norm(f"{path}->postprocessor", f"{stack}_norm")


def tables(settings: TransformerSettings, ours: Mapping[str, np.ndarray], num_positions: int) -> Arrays:
    """Embeddings, which are not scaled where positions are learned; those positions; and the output layer."""
    names = embedding_names(settings)
    source, target = (ours[names[side]] * settings.d_model**0.5 for side in ("source", "target"))
    bias = ours["output_bias"].copy() if settings.output_bias else np.zeros(len(target), np.float32)
    bias[[PAD, BOS]] = NEVER
    positions = sinusoids(num_positions, settings.d_model)
    begun = positions.copy()
    begun[0] += target[BOS]  # the embedding of the first target token is a vector of zeros
    yield "encoder_Wemb", source
    yield "decoder_Wemb", target
    yield "decoder_ff_logit_out_Wt", ours[names["output"]]
    yield "decoder_ff_logit_out_b", bias[None]
    yield f"{STACKS['encoder'][0]}->positionEmbedding->embeddings", positions
    yield f"{STACKS['decoder'][0]}->positionEmbedding->embeddings", begun


def sinusoids(num_positions: int, d_model: int) -> np.ndarray:
    """The table of nn/positions.py: sines in the first half of a vector, cosines in the second."""
    frequencies = 10000.0 ** (-2.0 * np.arange(d_model // 2) / d_model)
    angles = np.arange(num_positions)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def main(directory: str) -> None:
    turns, work = Turns(f"pymarian {version('pymarian')}"), DecodingWork.open(Path(directory))
    take_turns(turns, with_pieces(work, decoder(work)), work.sources)


if __name__ == "__main__":
    main(sys.argv[1])
