"""The exact words a user reads when a model cannot be imported from Hugging Face's layout, or exported to it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.interop import opus

from saccade.errors import ModelError
from saccade.interop.marian import import_model


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Called `opus` by all messages."""
    opus.write(tmp_path / "opus")
    monkeypatch.chdir(tmp_path)
    return Path("opus")


def message_of(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        import_model(path, Path("ours"))
    assert not Path("ours").exists()
    return str(caught.value)


def change(path: Path, **changes: Any) -> None:
    table = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({name: value for name, value in (table | changes).items() if value is not ...}), "utf-8")


# Files


def test_no_directory(theirs: Path) -> None:
    assert message_of(Path("opsu")) == (
        "opsu must be a directory with a Marian model as Hugging Face lays it out, but there is nothing of that name. Download all files of the model into one."
    )
    assert "but there is a file of that name" in message_of(theirs / "config.json")


def test_missing_files(theirs: Path) -> None:
    for name in ("target.spm", "model.safetensors"):
        (theirs / name).unlink()
    assert message_of(theirs) == (
        "opus must hold a Marian model as Hugging Face lays it out, but it has no model.safetensors and no target.spm. Download all files of the model into one directory; there is no import for other kinds of models."
    )


def test_a_target_vocabulary_that_is_missing(theirs: Path) -> None:
    change(theirs / "tokenizer_config.json", separate_vocabs=True)
    assert "but it has no target_vocab.json. " in message_of(theirs)


def test_a_pickle(theirs: Path) -> None:
    (theirs / "model.safetensors").rename(theirs / "pytorch_model.bin")
    assert message_of(theirs) == (
        "opus must hold its parameters as model.safetensors, but it has pytorch_model.bin, a pickle, which can run any program when it is read; saccade reads none. If you trust where it comes from, let transformers convert it once, outside of saccade, and import opus-safe:\n"
        "python -c \"from transformers import MarianMTModel as M, MarianTokenizer as T; [kind.from_pretrained('opus').save_pretrained('opus-safe') for kind in (M, T)]\""
    )


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "tokenizer_config.json", "generation_config.json"])
def test_json_that_is_none(theirs: Path, name: str) -> None:
    (theirs / name).write_text('{"a": ', "utf-8")
    assert message_of(theirs).startswith(f"opus/{name} must be JSON, but it cannot be read as such (Expecting value")
    (theirs / name).write_text("[1]", "utf-8")
    assert message_of(theirs) == f"opus/{name} must be a JSON object, but it is a list. Download it again."


@pytest.mark.parametrize("name", ["source.spm", "target.spm"])
def test_a_damaged_tokenizer(theirs: Path, name: str) -> None:
    (theirs / name).write_bytes(b"no model")
    assert message_of(theirs).startswith(f"opus/{name} must be a SentencePiece model, but it cannot be read as one.")


def test_parameters_that_were_cut_short(theirs: Path) -> None:
    whole = (theirs / "model.safetensors").read_bytes()
    (theirs / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert message_of(theirs).startswith("opus/model.safetensors must be a whole safetensors file, but cannot be read")


# What they say


def test_another_kind_of_model(theirs: Path) -> None:
    change(theirs / "config.json", model_type="m2m_100")
    assert message_of(theirs) == (
        'opus/config.json must describe a Marian model, with "model_type": "marian", but it says "m2m_100". There is no import for other kinds of models.'
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"d_model": "16"}, 'd_model must be a whole number, not "16"'),
        ({"vocab_size": ...}, "vocab_size must be a whole number, not null"),
        (
            {"decoder_attention_heads": 4},
            "decoder_attention_heads must be 2, as encoder_attention_heads is, not 4: layers of both stacks are alike here",
        ),
        (
            {"decoder_ffn_dim": 48, "activation_function": "gelu_new"},
            'decoder_ffn_dim must be 24, as encoder_ffn_dim is, not 48: layers of both stacks are alike here; activation_function must be relu or gelu or swish or silu, not "gelu_new"',
        ),
        (
            {"encoder_attention_heads": 3, "decoder_attention_heads": 3},
            "d_model must be a multiple of num_heads, not 16 with 3 heads",
        ),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
    ],
)
def test_a_make_that_ours_is_not(theirs: Path, changes: dict[str, Any], problem: str) -> None:
    change(theirs / "config.json", **changes)
    assert message_of(theirs) == f"opus/config.json must describe a model that saccade can express, but {problem}."


def test_an_end_that_is_another_token(theirs: Path) -> None:
    change(theirs / "config.json", eos_token_id=5)
    assert message_of(theirs) == (
        "eos_token_id in opus/config.json must be 0, the id of that token in opus/vocab.json, but it is 5. The files do not belong together: download all of them again."
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"<unk>": ...}, "'<unk>' is missing"),
        ({"a": 76}, "the id of 'a' is 76"),
        ({"a": "4"}, "the id of 'a' is '4'"),
        ({"a": 1}, "several pieces have the same id"),
    ],
)
def test_a_vocabulary_of_another_model(theirs: Path, changes: dict[str, Any], problem: str) -> None:
    change(theirs / "vocab.json", **changes)
    assert message_of(theirs) == (
        f"opus/vocab.json must give every piece an id of its own, from 0 to 75, the specials among them, but {problem}. It does not belong to this model, or was damaged: download it again."
    )


Tensors = dict[str, np.ndarray]
FIRST = "model.encoder.layers.0.fc1.weight"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (lambda tensors: {name: tensors[name] for name in tensors if name != FIRST}, f"{FIRST} is missing"),
        (
            lambda tensors: tensors | {"model.encoder.layernorm_embedding.weight": np.ones(16, np.float32)},
            "model.encoder.layernorm_embedding.weight is not a part of Marian's Transformer",
        ),
        (lambda tensors: tensors | {FIRST: tensors[FIRST][:23]}, f"{FIRST} must have shape (24, 16), not (23, 16)"),
        (
            lambda tensors: tensors | {"model.decoder.embed_positions.weight": np.ones((64, 16), np.float32)},
            "model.decoder.embed_positions.weight was learned, not computed",
        ),
        (
            lambda tensors: {name: tensors[name] for name in tensors if name != "model.shared.weight"},
            "model.shared.weight is missing",
        ),
    ],
)
def test_tensors_of_another_model(theirs: Path, changed: Callable[[Tensors], Tensors], problem: str) -> None:
    path = theirs / "model.safetensors"
    save_file(changed(load_file(path)), path)
    assert message_of(theirs) == (
        f"The tensors of opus/model.safetensors must be those that config.json describes, but {problem}. The files do not belong together, or the model is of another make: download them again, or look for a plain Marian Transformer."
    )


def test_numbers_that_numpy_does_not_know(theirs: Path) -> None:
    import torch

    opus.MarianMTModel.from_pretrained(theirs, dtype=torch.bfloat16).save_pretrained(theirs)
    assert message_of(theirs) == (
        "opus/model.safetensors must hold floating-point numbers of 16, 32 or 64 bits (F16, F32, F64), but some are BF16. Load the model in transformers with dtype=torch.float32, and save it again."
    )


def test_an_export_of_ours_that_was_changed(theirs: Path) -> None:
    change(theirs / "tokenizer_config.json", saccade_spm_sizes=[1, -1])
    assert message_of(theirs) == (
        "opus must have the SentencePiece models that it was exported with, as saccade_spm_sizes in tokenizer_config.json says, but that is [1, -1]. Export the model again, or remove the entry to import it as it is."
    )
