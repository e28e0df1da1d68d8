"""The exact words a user reads when a model cannot be fetched from a hub."""

import hashlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop import opus
from tests.interop.loopback_hub import LoopbackHub, Repository, loopback
from tests.messages.test_cli_messages import REFUSED, message

NAME = "Helsinki-NLP/opus-mt-en-de"
FILES = {"config.json": b'{"model_type": "marian"}', "vocab.json": b"{}", "source.spm": b"", "target.spm": b""}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with loopback(tmp_path, monkeypatch) as running:
        yield running


@pytest.fixture
def repository(hub: LoopbackHub) -> Repository:
    hub.repositories[NAME] = Repository()
    hub.repositories[NAME].commit(FILES)
    return hub.repositories[NAME]


def told(saccade: Any, *words: str | Path) -> str:
    """The message of `saccade get`, after what is said of the model."""
    ended = saccade("get", *words)
    assert (ended.code, ended.stdout) == (1, "")
    return str(ended.stderr.partition("error: ")[2].removesuffix("\n"))


def test_no_such_model(hub: LoopbackHub, saccade: Any) -> None:
    expected = (
        f"Helsinki-NLP/opus-mt-en-dd must be a model on {hub.url}, but there is none of that name that you may see. "
        "Check the name; for a private model, run `hf auth login`, or set HF_TOKEN."
    )
    assert message(saccade("get", "Helsinki-NLP/opus-mt-en-dd")) == expected
    assert message(saccade("info", "hf:Helsinki-NLP/opus-mt-en-dd")) == expected
    assert message(saccade("translate", "--model", "hf:Helsinki-NLP/opus-mt-en-dd")) == expected


def test_no_such_version(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    assert message(saccade("get", NAME, "--revision", "v9")) == (
        f"{hub.url}/{NAME} must have the revision v9, but it has none of that name."
    )


@pytest.mark.parametrize(
    "name", ["opus-mt-en-de", "a/b/c", "../b", "a/..", "a/b@", "a/b@../c", "a/b@c d", "hf:a", "a/b@x@y"]
)
def test_a_name_that_is_none(hub: LoopbackHub, saccade: Any, name: str) -> None:
    assert message(saccade("get", name)) == (
        "A model on a hub must be named as OWNER/NAME or OWNER/NAME@REVISION, such as Helsinki-NLP/opus-mt-en-de, but "
        f"this is {name}."
    )
    assert hub.requests == []


def test_two_versions(hub: LoopbackHub, saccade: Any) -> None:
    assert "but this is a/b@x with the revision y." in message(saccade("get", "a/b@x", "--revision", "y"))


def test_a_gated_model(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    repository.token, repository.is_gated = "hf_right", True
    assert message(saccade("get", NAME)) == (
        f"{NAME} is for those only whom its owner lets in. Ask for access on {hub.url}/{NAME}, then run `hf auth login`, or set HF_TOKEN."
    )


def test_a_wrong_token(hub: LoopbackHub, repository: Repository, saccade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.token = "hf_right"
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert message(saccade("get", NAME)) == (
        f"{hub.url} must know the token that it is shown, but it does not. Run `hf auth login` again, or set HF_TOKEN to a valid one."
    )


def test_no_network(hub: LoopbackHub, saccade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert message(saccade("get", NAME)) == (
        f"Cannot fetch {NAME} from http://127.0.0.1:9: [Errno 111] Connection refused. Check the network, the proxy and HF_ENDPOINT, and run the same command again: it goes on where this one stopped."
    )


def test_an_endpoint_that_is_none(hub: LoopbackHub, saccade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "nowhere")
    assert message(saccade("get", NAME)).startswith(f"Cannot fetch {NAME} from nowhere: Request URL is missing")


def test_offline(hub: LoopbackHub, repository: Repository, saccade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    expected = f"{NAME} has not been fetched yet, and HF_HUB_OFFLINE is set. Unset it and run `saccade get {NAME}`, here or where there is a network, and copy the model directory."
    assert message(saccade("get", NAME)) == expected
    assert message(saccade("translate", "--model", f"hf:{NAME}")) == expected
    assert hub.requests == []


def test_a_hub_that_is_down(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    hub.is_down = True
    assert message(saccade("get", NAME)) == f"{hub.url} must send {NAME}, but it answers 503. Try again later."


def test_huggingface_hub_is_not_installed(hub: LoopbackHub, saccade: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert message(saccade("get", NAME)) == (
        f'Fetching {NAME} needs huggingface_hub, which is not installed. Install it with: pip install "saccade[hub]"'
    )


def test_a_pickle_only(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    commit = repository.commit({**FILES, "pytorch_model.bin": b"a pickle"})
    assert message(saccade("get", NAME)) == (
        f"{hub.url}/{NAME} must hold its parameters as model.safetensors, but it has pytorch_model.bin, a pickle, which can run any program when it is read; saccade reads none. Nor has the hub's bot converted this very version. If you trust its authors, let transformers convert it once, outside of saccade, and import it with `saccade import opus-mt-en-de-safe opus-mt-en-de`:\n"
        f"python -c \"from transformers import MarianMTModel as M, MarianTokenizer as T; [kind.from_pretrained('{NAME}', revision='{commit}').save_pretrained('opus-mt-en-de-safe') for kind in (M, T)]\""
    )
    assert hub.fetched() == ["config.json"]


def test_no_parameters(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    assert message(saccade("get", NAME)) == (
        f"{hub.url}/{NAME} must hold the parameters of a model as model.safetensors, but it has no such file. Look for another version of it."
    )


def test_another_kind_of_model(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    repository.commit({"config.json": b'{"model_type": "bert"}', "model.safetensors": b"large"})
    assert message(saccade("get", NAME)) == (
        f'config.json of {hub.url}/{NAME} must describe a Marian model, with "model_type": "marian", but it says "bert". There is no import for other kinds of models.'
    )
    assert hub.fetched() == ["config.json"], "and nothing large"


def test_no_model_at_all(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    repository.commit({"README.md": b"# A dataset"})
    assert message(saccade("get", NAME)) == (
        f"{hub.url}/{NAME} must hold a Marian model as Hugging Face lays it out, but it has no config.json and no vocab.json and no source.spm and no target.spm. Look for an OPUS-MT model; there is no import for other kinds."
    )


def test_original_files_that_are_not_all_there(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    repository.commit({"decoder.yml": b"models: [a.npz]\nvocabs: [v.yml, v.yml]\n", "source.spm": b""})
    assert message(saccade("get", NAME)) == (
        f"{hub.url}/{NAME} must hold a model with Marian's own files, but it has no a.npz and no v.yml and no target.spm. Look for another version of it."
    )
    repository.commit({"decoder.yml": b"models: [../../a.npz]\nvocabs: [v.yml, v.yml]\n"})
    assert message(saccade("get", NAME)).endswith('must name files beside it, but it names "../../a.npz".')


def test_a_wrong_checksum(hub: LoopbackHub, repository: Repository, saccade: Any) -> None:
    repository.commit({**FILES, "model.safetensors": b"parameters"})
    hub.send = lambda path, content: content.replace(b"parameters", b"pArameters")
    checksum = hashlib.sha256(b"parameters").hexdigest()
    assert told(saccade, NAME) == (
        f"model.safetensors of {hub.url}/{NAME} must have the checksum {checksum}, but what came has another, and was removed. Run the same command again; if it says so again, tell the hub."
    )


def test_a_full_disk(hub: LoopbackHub, tmp_path: Path, saccade: Any) -> None:
    """Here: a limit on the size of a file, which the parameters exceed."""
    opus.write(tmp_path / "theirs")
    hub.publish(NAME, tmp_path / "theirs")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, hard))
    try:
        said = told(saccade, NAME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert said == f"Cannot read or write the output: File too large. {REFUSED}"


def test_a_directory_that_exists(hub: LoopbackHub, repository: Repository, tmp_path: Path, saccade: Any) -> None:
    assert message(saccade("get", NAME, "-o", tmp_path)).startswith(f"{tmp_path} exists already")
    assert hub.requests == []
