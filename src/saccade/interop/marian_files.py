"""The files of a Marian model as Hugging Face lays it out: what they must hold, and our names for what they hold."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.directory import PARAMETERS
from saccade.errors import ModelError
from saccade.interop.ctranslate2 import sinusoids
from saccade.interop.marian_vocabulary import SPM
from saccade.parameters import open_parameters

CONFIG, TOKENIZER, GENERATION = "config.json", "tokenizer_config.json", "generation_config.json"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
PICKLE = "pytorch_model.bin"

BIAS = "final_logits_bias"
SHARED, HEAD = "model.shared.weight", "lm_head.weight"
EMBEDDING, POSITIONS = (
    {stack: f"model.{stack}.{table}.weight" for stack in ("encoder", "decoder")}
    for table in ("embed_tokens", "embed_positions")
)
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
"""Names of activations there, and ours."""
SIZES = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "encoder_ffn_dim")
SAME = {"decoder_attention_heads": "encoder_attention_heads", "decoder_ffn_dim": "encoder_ffn_dim"}
"""What an encoder and a decoder of ours have in common, and those of Marian need not."""

Tensors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Tables:
    """Where a model keeps its embeddings; the same name stands for the same table."""

    source: str
    target: str
    output: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Tables":
        shares = config.get("share_encoder_decoder_embeddings", True)
        source, target = (SHARED, SHARED) if shares else (EMBEDDING["encoder"], EMBEDDING["decoder"])
        return cls(source, target, target if config.get("tie_word_embeddings", True) else HEAD)


@dataclass(frozen=True, slots=True)
class Marian:
    """A Marian directory that was read and found whole."""

    path: Path
    config: dict[str, Any]
    words: dict[str, Any]
    """tokenizer_config.json."""
    search: dict[str, Any]
    """How it is told to search: generation_config.json, or config.json of older files."""
    source_ids: dict[str, Any]
    target_ids: dict[str, Any] | None
    """None where both sides have one vocabulary."""
    tables: Tables
    tensors: Tensors
    vocabularies: tuple[str, str] = (VOCABULARY, TARGET_VOCABULARY)
    """The files that the ids were read from."""


def read(path: Path) -> Marian:
    """All files, checked against one another."""
    _check_layout(path)
    config, words = read_json(path / CONFIG), read_json(path / TOKENIZER, optional=True)
    _check_config(path / CONFIG, config)
    tables = Tables.of(config)
    search = {**config, **read_json(path / GENERATION, optional=True)}
    target_ids = read_json(path / TARGET_VOCABULARY) if words.get("separate_vocabs") else None
    tensors = checked_tensors(_read(path / PARAMETERS), config, tables, origin=str(path / PARAMETERS), told=CONFIG)
    return Marian(path, config, words, search, read_json(path / VOCABULARY), target_ids, tables, tensors)


def counterparts(layers: Mapping[str, int]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every parameter of our layers and the names of its parts there; `layers` counts those of encoder and decoder."""
    residual = {"encoder": "around_attention", "decoder": "around_self"}
    for stack, count in layers.items():
        names = {
            "self_attention.projection": tuple(f"self_attn.{part}_proj" for part in "qkv"),
            "self_attention.output": ("self_attn.out_proj",),
            f"{residual[stack]}.norm": ("self_attn_layer_norm",),
            "feed_forward.widen": ("fc1",),
            "feed_forward.narrow": ("fc2",),
            "around_feed_forward.norm": ("final_layer_norm",),
        }
        if stack == "decoder":
            names |= {
                "cross_attention.projection": tuple(f"encoder_attn.{part}_proj" for part in "qkv"),
                "cross_attention.output": ("encoder_attn.out_proj",),
                "around_cross.norm": ("encoder_attn_layer_norm",),
            }
        for number in range(count):
            for ours, theirs in names.items():
                for what in ("weight", "bias"):
                    there = tuple(f"model.{stack}.layers.{number}.{name}.{what}" for name in theirs)
                    yield f"{stack}.{number}.{ours}.{what}", there


def layers(config: Mapping[str, Any]) -> dict[str, int]:
    return {"encoder": config["encoder_layers"], "decoder": config["decoder_layers"]}


def _check_layout(path: Path) -> None:
    if not path.is_dir():
        raise ModelError(
            f"{path} must be a directory with a Marian model as Hugging Face lays it out, but there is "
            f"{'a file' if path.exists() else 'nothing'} of that name. Download all files of the model into one."
        )
    separate = read_json(path / TOKENIZER, optional=True).get("separate_vocabs")
    wanted = [CONFIG, PARAMETERS, *SPM, VOCABULARY, *([TARGET_VOCABULARY] if separate else [])]
    missing = [name for name in wanted if not (path / name).is_file()]
    if missing == [PARAMETERS] and (path / PICKLE).is_file():
        raise ModelError(
            f"{path} must hold its parameters as {PARAMETERS}, but it has {PICKLE}, a pickle, which can run any "
            "program when it is read; saccade reads none. If you trust where it comes from, let transformers convert "
            f"it once, outside of saccade, and import {path}-safe:\n"
            """python -c "from transformers import MarianMTModel as M, MarianTokenizer as T; """
            f"""[kind.from_pretrained('{path}').save_pretrained('{path}-safe') for kind in (M, T)]\""""
        )
    if missing:
        raise ModelError(
            f"{path} must hold a Marian model as Hugging Face lays it out, but it has no {' and no '.join(missing)}. "
            "Download all files of the model into one directory; there is no import for other kinds of models."
        )


def read_json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    """A table in JSON; empty if it is `optional` and not there."""
    if optional and not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} must be JSON, but it cannot be read as such ({error}). Download it again.") from None
    if not isinstance(found, dict):
        raise ModelError(f"{path} must be a JSON object, but it is a {type(found).__name__}. Download it again.")
    return found


def check_kind(config: Mapping[str, Any], *, origin: str) -> None:
    """Refuse a config.json of another kind of model."""
    if config.get("model_type") != "marian":
        raise ModelError(
            f'{origin} must describe a Marian model, with "model_type": "marian", but it says '
            f"{json.dumps(config.get('model_type'))}. There is no import for other kinds of models."
        )


def _check_config(path: Path, config: Mapping[str, Any]) -> None:
    check_kind(config, origin=str(path))
    numbers = (*SIZES, *SAME, "vocab_size", "max_position_embeddings", "decoder_start_token_id")
    problems = [
        f"{name} must be a whole number, not {json.dumps(config.get(name))}"
        for name in numbers
        if type(config.get(name)) is not int or config[name] < 0
    ]
    if not problems:
        problems += [
            f"{one} must be {config[other]}, as {other} is, not {config[one]}: layers of both stacks are alike here"
            for one, other in SAME.items()
            if config[one] != config[other]
        ]
    if config.get("activation_function") not in ACTIVATIONS:
        named = json.dumps(config.get("activation_function"))
        problems.append(f"activation_function must be {' or '.join(ACTIVATIONS)}, not {named}")
    if problems:
        raise ModelError(f"{path} must describe a model that saccade can express, but {'; '.join(problems)}.")


def checked_tensors(tensors: Tensors, config: Mapping[str, Any], tables: Tables, *, origin: str, told: str) -> Tensors:
    """All tensors that count, of the right shapes; what is left over or missing is refused.

    `told` names the file that describes them.
    """
    aliases = {SHARED, HEAD, *EMBEDDING.values()}
    if tables == Tables(SHARED, SHARED, SHARED) and SHARED not in tensors:
        # Tables that are one and the same are written once, and some writers choose another name for it.
        found = sorted(aliases & tensors.keys())
        tensors |= {SHARED: tensors[found[0]]} if found else {}
    unused = (aliases - {tables.source, tables.target, tables.output}) | {*POSITIONS.values()}
    shapes = _shapes(config, tables)
    problems = [
        *(f"{name} is missing" for name in shapes.keys() - tensors.keys() - {BIAS}),
        *(f"{name} is not a part of Marian's Transformer" for name in tensors.keys() - shapes.keys() - unused),
        *(
            f"{name} must have shape {shapes[name]}, not {tensors[name].shape}"
            for name in shapes.keys() & tensors.keys()
            if shapes[name] != tensors[name].shape
        ),
        *(
            f"{name} was learned, not computed"
            for name in POSITIONS.values() & tensors.keys()
            if _is_learned(tensors[name])
        ),
    ]
    if problems:
        raise ModelError(
            f"The tensors of {origin} must be those that {told} describes, but {'; '.join(sorted(problems)[:5])}"
            f"{f'; and {len(problems) - 5} more' if len(problems) > 5 else ''}. The files do not belong together, or "
            "the model is of another make: download them again, or look for a plain Marian Transformer."
        )
    return {name: tensors[name] for name in shapes.keys() & tensors.keys()}


def _shapes(config: Mapping[str, Any], tables: Tables) -> dict[str, tuple[int, ...]]:
    d, inner = config["d_model"], config["encoder_ffn_dim"]
    weights = {"fc1": (inner, d), "fc2": (d, inner)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name in (name for _, theirs in counterparts(layers(config)) for name in theirs):
        *_, part, what = name.split(".")
        shape = (d,) if part.endswith("norm") else weights.get(part, (d, d))
        shapes[name] = shape if what == "weight" else shape[:1]
    num_source, num_target = num_tokens(config)
    embeddings = {tables.source: (num_source, d), tables.target: (num_target, d), tables.output: (num_target, d)}
    return shapes | embeddings | {BIAS: (1, num_target)}


def num_tokens(config: Mapping[str, Any]) -> tuple[int, int]:
    """Rows of the source's and of the target's table."""
    own = config.get("decoder_vocab_size") or config["vocab_size"]
    return config["vocab_size"], config["vocab_size"] if config.get("share_encoder_decoder_embeddings", True) else own


def _read(path: Path) -> Tensors:
    with open_parameters(path) as file:
        names = list(file.keys())
        kinds = {file.get_slice(name).get_dtype() for name in names}
        if others := sorted(kinds - {"F16", "F32", "F64"}):
            raise ModelError(
                f"{path} must hold floating-point numbers of 16, 32 or 64 bits (F16, F32, F64), but some are "
                f"{', '.join(others)}. Load the model in transformers with dtype=torch.float32, and save it again."
            )
        return {name: file.get_tensor(name).astype(np.float32) for name in names}


def _is_learned(positions: NDArray[np.float32]) -> bool:
    """Old files hold the table of positions; it must be the one that everybody can compute."""
    return positions.ndim != 2 or bool(np.abs(positions - sinusoids(*positions.shape)).max(initial=0) > 1e-3)
