"""A Transformer as CTranslate2 reads it, made with numpy: its own writer loads torch, and may change at any time."""

import json
import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.directory import ModelDirectory
from saccade.errors import ModelError
from saccade.files import draft_directory
from saccade.models.settings import TransformerSettings
from saccade.parameters import check_parameters
from saccade.text.formats.opening import check_new
from saccade.text.tokenizer import BOS, EOS, SPECIALS, UNK, Tokenizer

Quantization = Literal["float32", "int8"]
Variables = dict[str, NDArray[Any]]
Shapes = dict[str, tuple[int, ...]]

POSITIONS = 1024  # of the table of positions, which bounds what can be read and written
BINARY_VERSION, SPECIFICATION, REVISION = 6, "TransformerSpec", 7
TYPES = ("float32", "int8", "int16")  # by their number in the file
ACTIVATIONS = {"relu": 0, "swish": 2, "gelu": 3}


def export(directory: ModelDirectory, output: Path, *, quantize: Quantization = "float32") -> None:
    """Write a directory that `ctranslate2.Translator` opens, with the tokenizers beside; it must not exist."""
    check_new(output, "written", "directory")
    files = convert(directory, directory.parameters(), quantize=quantize)
    with draft_directory(output) as draft:
        for name, content in files.items():
            (draft / name).write_bytes(content)
        directory.tokenizers.save(draft)


def convert(
    directory: ModelDirectory,
    parameters: Mapping[str, NDArray[Any]],
    *,
    quantize: Quantization = "float32",
    positions: int = POSITIONS,
) -> dict[str, bytes]:
    """The files of a CTranslate2 model by name. Sources and targets may have so many positions, their end included."""
    settings = transformer(directory)
    tokenizers = directory.tokenizers
    check_parameters(
        parameter_shapes(settings, len(tokenizers.source), len(tokenizers.target)),
        {name: values.shape for name, values in parameters.items()},
        origin=str(directory.path),
    )
    variables = dict(_variables(settings, {name: np.asarray(parameters[name], np.float32) for name in parameters}))
    table = sinusoids(positions, settings.d_model, settings.positions)
    variables |= _constants(settings) | {"decoder/position_encodings/encodings": table}
    aliases = {"encoder/position_encodings/encodings": "decoder/position_encodings/encodings"}
    if settings.embeddings != "separate":
        aliases["decoder/projection/weight"] = "decoder/embeddings/weight"
    if settings.embeddings == "shared":
        aliases["encoder/embeddings_0/weight"] = "decoder/embeddings/weight"
    if quantize == "int8":
        variables = dict(_quantized(variables))
    tokens = {"unk_token": UNK, "bos_token": BOS, "eos_token": EOS, "decoder_start_token": BOS}
    config = {name: SPECIALS[id] for name, id in tokens.items()} | {
        "add_source_bos": False,
        "add_source_eos": True,
        "layer_norm_epsilon": settings.norm_epsilon,
        "multi_query_attention": False,
    }
    files = {"model.bin": _binary(variables, aliases), "config.json": _json(config)}
    if tokenizers.shared:
        return files | {"shared_vocabulary.json": _json(pieces(tokenizers.source))}
    sides = {"source": tokenizers.source, "target": tokenizers.target}
    return files | {f"{side}_vocabulary.json": _json(pieces(tokenizer)) for side, tokenizer in sides.items()}


def transformer(directory: ModelDirectory) -> TransformerSettings:
    """The settings of a model that CTranslate2 can run; another kind is refused."""
    settings = directory.description.model
    if not isinstance(settings, TransformerSettings):
        raise ModelError(
            f'CTranslate2 runs Transformers only, but {directory.path} is of kind = "{settings.kind}". Use '
            'engine = "torch", which runs every kind, or train a model of kind = "transformer".'
        )
    if settings.decoder != "attention":
        raise ModelError(
            f"CTranslate2 runs decoders with self-attention only, but that of {directory.path} has an SSRU "
            '(decoder = "ssru"), as Firefox\'s models have. Use engine = "torch" or "auto", which takes torch for it.'
        )
    return settings


def pieces(tokenizer: Tokenizer) -> list[str]:
    """The vocabulary, by id."""
    return list(tokenizer.pieces)


def sinusoids(positions: int, d_model: int, kind: str = "paper") -> NDArray[np.float32]:
    """The table of nn/positions.py: sines in the first half of a vector, cosines in the second."""
    half = d_model // 2
    frequencies = 10000.0 ** -(np.arange(half) / (half if kind == "paper" else half - 1))
    angles = np.arange(positions)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def parameter_shapes(settings: TransformerSettings, num_source_tokens: int, num_target_tokens: int) -> Shapes:
    """What a Transformer of ours has learned: the names and shapes in its safetensors file."""
    d, inner = settings.d_model, settings.d_feedforward
    norm: Shapes = {"weight": (d,), "bias": (d,)}

    def linear(name: str, inputs: int, outputs: int) -> Shapes:
        return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}

    attention = linear("projection", d, 3 * d) | linear("output", d, d)
    both = {
        "self_attention": attention,
        "feed_forward": linear("widen", d, inner) | linear("narrow", inner, d),
        "around_feed_forward.norm": norm,
    }
    encoder = both | {"around_attention.norm": norm}
    decoder = both | {"around_self.norm": norm, "cross_attention": attention, "around_cross.norm": norm}
    parts: dict[str, Shapes] = {"target_embedding": {"weight": (num_target_tokens, d)}}
    if settings.embeddings != "shared":
        parts["source_embedding"] = {"weight": (num_source_tokens, d)}
    if settings.embeddings == "separate":
        parts["output_embedding"] = {"weight": (num_target_tokens, d)}
    for number in range(settings.layers):
        parts |= {f"encoder.{number}.{name}": shapes for name, shapes in encoder.items()}
    for number in range(settings.num_decoder_layers):
        parts |= {f"decoder.{number}.{name}": shapes for name, shapes in decoder.items()}
    if settings.norm == "pre":
        parts |= {"encoder_norm": norm, "decoder_norm": norm}
    bias: Shapes = {"output_bias": (num_target_tokens,)} if settings.output_bias else {}
    return bias | {f"{part}.{name}": shape for part, shapes in parts.items() for name, shape in shapes.items()}


def _variables(settings: TransformerSettings, ours: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Our parameters by CTranslate2's names."""
    yield "decoder/embeddings/weight", ours["target_embedding.weight"]
    if settings.embeddings != "shared":
        yield "encoder/embeddings_0/weight", ours["source_embedding.weight"]
    if settings.embeddings == "separate":
        yield "decoder/projection/weight", ours["output_embedding.weight"]
    if settings.output_bias:
        yield "decoder/projection/bias", ours["output_bias"]

    def linear(theirs: str, mine: str, rows: slice = slice(None)) -> Iterator[tuple[str, NDArray[Any]]]:
        yield f"{theirs}/weight", ours[f"{mine}.weight"][rows]
        yield f"{theirs}/bias", ours[f"{mine}.bias"][rows]

    def norm(theirs: str, mine: str) -> Iterator[tuple[str, NDArray[Any]]]:
        yield f"{theirs}/layer_norm/gamma", ours[f"{mine}.weight"]
        yield f"{theirs}/layer_norm/beta", ours[f"{mine}.bias"]

    def layer(theirs: str, mine: str, around: str) -> Iterator[tuple[str, NDArray[Any]]]:
        yield from linear(f"{theirs}/self_attention/linear_0", f"{mine}.self_attention.projection")
        yield from linear(f"{theirs}/self_attention/linear_1", f"{mine}.self_attention.output")
        yield from norm(f"{theirs}/self_attention", f"{mine}.{around}.norm")
        yield from linear(f"{theirs}/ffn/linear_0", f"{mine}.feed_forward.widen")
        yield from linear(f"{theirs}/ffn/linear_1", f"{mine}.feed_forward.narrow")
        yield from norm(f"{theirs}/ffn", f"{mine}.around_feed_forward.norm")

    for number in range(settings.layers):
        yield from layer(f"encoder/layer_{number}", f"encoder.{number}", "around_attention")
    queries, memory = slice(None, settings.d_model), slice(settings.d_model, None)
    for number in range(settings.num_decoder_layers):
        theirs, mine = f"decoder/layer_{number}", f"decoder.{number}"
        yield from layer(theirs, mine, "around_self")
        yield from linear(f"{theirs}/attention/linear_0", f"{mine}.cross_attention.projection", queries)
        yield from linear(f"{theirs}/attention/linear_1", f"{mine}.cross_attention.projection", memory)
        yield from linear(f"{theirs}/attention/linear_2", f"{mine}.cross_attention.output")
        yield from norm(f"{theirs}/attention", f"{mine}.around_cross.norm")
    if settings.norm == "pre":
        yield from norm("encoder", "encoder_norm")
        yield from norm("decoder", "decoder_norm")


def _constants(settings: TransformerSettings) -> Variables:
    """What CTranslate2 has to know of the architecture."""
    both: Variables = {
        "num_heads": np.array(settings.num_heads, np.int16),
        "pre_norm": np.array(settings.norm == "pre", np.int8),
        "activation": np.array(ACTIVATIONS[settings.activation], np.int8),
        "scale_embeddings": np.array(math.sqrt(settings.d_model), np.float32),
    }
    constants = {f"{stack}/{name}": value for stack in ("encoder", "decoder") for name, value in both.items()}
    unused = ("alibi", "alibi_use_positive_positions", "scale_alibi", "start_from_zero_embedding")
    flags = ("encoder/embeddings_merge", "encoder/multi_query_attention", *(f"decoder/{name}" for name in unused))
    alignment = {"decoder/alignment_layer": np.array(-1, np.int16), "decoder/alignment_heads": np.array(1, np.int16)}
    return constants | {name: np.array(0, np.int8) for name in flags} | alignment


def _quantized(variables: Variables) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every row of a matrix in whole numbers up to 127, with the scale that it was multiplied by."""
    for name, values in variables.items():
        if not name.endswith("/weight"):
            yield name, values
            continue
        largest = np.abs(values).max(axis=1)
        scale = (np.float32(127) / np.where(largest == 0, np.float32(127), largest)).astype(np.float32)
        yield name, np.rint(values * scale[:, None]).astype(np.int8)
        yield f"{name}_scale", scale


def _binary(variables: Variables, aliases: Mapping[str, str]) -> bytes:
    """model.bin: a header, the variables, and the names that are others' as well."""
    parts = [_number(BINARY_VERSION), _text(SPECIFICATION), _number(REVISION), _number(len(variables))]
    for name, values in sorted(variables.items()):
        parts += [_text(name), struct.pack("<B", values.ndim), *map(_number, values.shape)]
        parts += [struct.pack("<B", TYPES.index(values.dtype.name)), _number(values.nbytes)]
        parts.append(values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes())
    parts.append(_number(len(aliases)))
    for alias, name in sorted(aliases.items()):
        parts += [_text(alias), _text(name)]
    return b"".join(parts)


def _number(value: int) -> bytes:
    return struct.pack("<I", value)


def _text(value: str) -> bytes:
    return struct.pack("<H", len(value) + 1) + value.encode("ascii") + b"\0"


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
