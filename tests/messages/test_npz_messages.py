"""The exact words a user reads when a model with Marian's own files cannot be imported."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.interop import opus

from saccade.errors import ModelError
from saccade.interop.marian import import_model


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "opus"
    opus.write_original(path)
    return path


@pytest.fixture
def theirs(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to be spoilt, called `opus` by all messages."""
    shutil.copytree(original, tmp_path / "opus")
    monkeypatch.chdir(tmp_path)
    return Path("opus")


def message_of(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        import_model(path, Path("ours"))
    assert not Path("ours").exists()
    return str(caught.value)


# Files


def test_missing_files(theirs: Path) -> None:
    (theirs / "source.spm").unlink()
    assert message_of(theirs) == (
        "opus must hold a model with Marian's own files, but it has no source.spm. Unpack all files of the model into one directory."
    )
    (theirs / "decoder.yml").unlink()
    assert "but it has no decoder.yml and no source.spm." in message_of(theirs)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models: [a.npz, b.npz]\nvocabs: [v.yml, v.yml]", '`models`, but it lists ["a.npz", "b.npz"].'),
        ("models: [a.bin]\nvocabs: [v.yml, v.yml]", '`models`, but it lists ["a.bin"].'),
        ("models: [a.npz]\nvocabs: [v.spm, v.spm]", 'but it lists ["v.spm", "v.spm"]. There is no import for'),
        ("models: [../a.npz]\nvocabs: [v.yml, v.yml]", 'must name files beside it, but it names "../a.npz".'),
        ("models: [a.npz]\nvocabs: [/etc/v.yml, v.yml]", 'must name files beside it, but it names "/etc/v.yml".'),
        ("models: [a.npz]\nvocabs: [v.yml, v.yml]", "but it has no a.npz and no v.yml."),
        ("a: &a [*a]", "must be YAML, but it cannot be read as such (it refers to itself)."),
        ("a: [", "must be YAML, but it cannot be read as such (while parsing a flow node"),
        ("- a", "must be a table in YAML, but it is a list."),
    ],
)
def test_a_list_of_files_that_is_none(theirs: Path, text: str, problem: str) -> None:
    (theirs / "decoder.yml").write_text(text, "utf-8")
    assert problem in message_of(theirs)


def pickled(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return arrays | {"Wemb": np.array([{"a": 1}], dtype=object)}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (pickled, "Wemb is of type object and has 1 axes, not 2 of floating-point numbers"),
        (
            lambda arrays: arrays | {"Wemb": arrays["Wemb"].astype(np.int32)},
            "Wemb is of type int32 and has 2 axes, not 2 of floating-point numbers",
        ),
    ],
    ids=["pickle", "integers"],
)
def test_arrays_that_are_no_parameters(theirs: Path, change: Any, problem: str) -> None:
    opus.rewrite_original(theirs, change)
    assert message_of(theirs) == (
        f"opus/opus.model1.npz must be an .npz file of plain arrays, but it cannot be read as one ({problem}). It was probably cut short or damaged: get it again."
    )


def test_a_head_that_promises_more_than_there_is(theirs: Path) -> None:
    file = theirs / "opus.model1.npz"
    whole = file.read_bytes()
    with np.load(file) as arrays:
        shape = str(arrays["Wemb"].shape).encode()
    assert whole.count(shape) == 1
    larger = shape.replace(b"16)", b"96)")
    file.write_bytes(whole.replace(shape, larger))
    assert f"bytes of its shape {larger.decode()}" in message_of(theirs)


def test_a_file_that_was_cut_short(theirs: Path) -> None:
    file = theirs / "opus.model1.npz"
    file.write_bytes(file.read_bytes()[:5000])
    assert "cannot be read as one (File is not a zip file)" in message_of(theirs)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda arrays: arrays | {"Wpos": arrays["Wemb"]}, "Wpos is not a part of it"),
        (
            lambda arrays: {n: v for n, v in arrays.items() if n != "decoder_l2_context_bk"},
            "decoder_l2_context_bk is missing",
        ),
        (
            lambda arrays: {n: v for n, v in arrays.items() if n != "Wemb"},
            "decoder_Wemb is missing; encoder_Wemb is missing",
        ),
    ],
    ids=["more", "less", "no table"],
)
def test_parameters_of_another_model(theirs: Path, change: Any, problem: str) -> None:
    opus.rewrite_original(theirs, change)
    assert message_of(theirs) == (
        f"opus/opus.model1.npz must hold the parameters of the Transformer that special:model.yml describes, but {problem}. Get it again, or look for a plain Marian Transformer."
    )


def test_parameters_of_another_shape(theirs: Path) -> None:
    opus.rewrite_original(theirs, lambda arrays: arrays | {"encoder_l1_ffn_W1": arrays["encoder_l1_ffn_W1"][:, :20]})
    assert message_of(theirs).startswith(
        "The tensors of opus/opus.model1.npz must be those that special:model.yml describes, but model.encoder.layers.0.fc1.weight must have shape (24, 16), not (20, 16)."
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"transformer-preprocess": "n"}, 'transformer-preprocess must be "", not "n"'),
        ({"type": "s2s"}, 'type must be "transformer", not "s2s"'),
        ({"transformer-decoder-autoreg": "rnn"}, 'transformer-decoder-autoreg must be "self-attention", not "rnn"'),
        ({"transformer-ffn-activation": "gelu"}, 'transformer-ffn-activation must be "swish" or "relu", not "gelu"'),
        ({"right-left": True}, 'right-left must be "false", not "true"'),
        ({"dim-emb": "big"}, 'dim-emb must be a whole number, not "big"'),
        ({"transformer-decoder-dim-ffn": 48}, 'transformer-decoder-dim-ffn must be 0, not "48"'),
    ],
)
def test_options_of_another_model(theirs: Path, changes: dict[str, Any], problem: str) -> None:
    def change(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        options = yaml.safe_load(arrays["special:model.yml"].tobytes().rstrip(b"\0")) | changes
        return arrays | {"special:model.yml": np.frombuffer(yaml.safe_dump(options).encode() + b"\0", np.int8)}

    opus.rewrite_original(theirs, change)
    assert message_of(theirs) == (
        f"special:model.yml in opus/opus.model1.npz must describe a model that saccade can express, but {problem}."
    )


def test_no_options(theirs: Path) -> None:
    opus.rewrite_original(theirs, lambda arrays: {n: v for n, v in arrays.items() if n != "special:model.yml"})
    assert message_of(theirs) == (
        "opus/opus.model1.npz must hold the options of its training as special:model.yml, but it does not."
    )


def test_vocabularies_of_two_models(theirs: Path) -> None:
    (theirs / "other.yml").write_text("</s>: 0\n<unk>: 1\n", "utf-8")
    decoder = (theirs / "decoder.yml").read_text("utf-8").replace("- opus.vocab.yml\n", "- other.yml\n", 1)
    (theirs / "decoder.yml").write_text(decoder, "utf-8")
    assert message_of(theirs).startswith(
        "opus/other.yml and opus.vocab.yml must be the same, since both sides have one"
    )


# Vocabularies


@pytest.mark.parametrize("line", ["a", "a: b", "a: -1", "</s>: 7"])
def test_a_line_without_an_id(theirs: Path, line: str) -> None:
    path = theirs / "opus.vocab.yml"
    path.write_text(f"</s>: 0\n<unk>: 1\n{line}\n", "utf-8")
    assert message_of(theirs) == (
        f"opus/opus.vocab.yml must give every piece an id, such as `▁the: 17`, but line 3 is {line!r}. It was probably damaged: get it again."
    )
