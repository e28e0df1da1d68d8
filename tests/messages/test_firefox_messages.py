"""The exact words a user reads when a Firefox model cannot be imported; whatever is wrong, nothing is written."""

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.interop import bergamot

from saccade.errors import ModelError
from saccade.interop import firefox_files
from saccade.interop.firefox import import_model

MODEL, LEX, VOCABULARY = "model.ende.intgemm.alphas.bin", "lex.50.50.ende.s2t.bin", "vocab.ende.spm"
AGAIN = "Download it again."
FOREIGN = "It does not belong to a Firefox translation model."


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Called `ff` by all messages."""
    bergamot.write(tmp_path / "ff")
    monkeypatch.chdir(tmp_path)
    return Path("ff")


def message_of(path: Path = Path("ff")) -> str:
    with pytest.raises(ModelError) as caught:
        import_model(path, Path("ours"))
    assert not Path("ours").exists()
    return str(caught.value)


def patch(path: Path, at: int, layout: str, *values: float) -> None:
    """Overwrite some bytes."""
    content = bytearray(path.read_bytes())
    struct.pack_into(layout, content, at, *values)
    path.write_bytes(content)


def rewrite(path: Path, config: dict[str, object] | None = None, **tensors: np.ndarray | None) -> None:
    """The model with other settings, or with arrays added, changed or removed."""
    given = bergamot.random_tensors([len(bergamot.processor(bergamot.spm("both")))] * 2, separate=False)
    given |= {name: values for name, values in tensors.items() if values is not None}
    kept = {
        name: bergamot.quantised(name, values) for name, values in given.items() if tensors.get(name, 0) is not None
    }
    path.write_bytes(bergamot.binary(kept, bergamot.SMALL | (config or {})))


# Directories


def test_no_directory(theirs: Path):
    assert message_of(Path("fox")) == (
        "fox must be a directory with the files of a Firefox translation model, but there is nothing of that name. Download all files of the model into one."
    )
    assert "but there is a file of that name" in message_of(theirs / MODEL)


def test_missing_files(theirs: Path):
    (theirs / VOCABULARY).unlink()
    assert message_of() == (
        "ff must hold a Firefox translation model, but it has no vocab.*.spm (nor one that ends in .gz). Download all files of the model into one directory."
    )
    (theirs / "srcvocab.ende.spm").write_bytes(b"")
    (theirs / MODEL).unlink()
    assert "it has no model.*.bin and no trgvocab.*.spm (nor" in message_of()


def test_two_models(theirs: Path):
    (theirs / "model.deen.intgemm.alphas.bin.gz").write_bytes(b"")
    assert message_of() == (
        "ff must hold the files of one Firefox translation model, but it has model.deen.intgemm.alphas.bin.gz and model.ende.intgemm.alphas.bin. Put each model into a directory of its own."
    )


def test_the_same_file_packed_and_plain_is_one(theirs: Path):
    (theirs / f"{MODEL}.gz").write_bytes(b"never read")
    import_model(theirs, Path("ours"))


def test_a_pointer_of_git_lfs(theirs: Path):
    (theirs / MODEL).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12d8\nsize 404352\n")
    assert message_of() == (
        f"ff/{MODEL} must be the file itself, but it only points to a file of Git LFS. Get it with: git lfs pull"
    )


def test_a_packed_file_that_is_cut_short(theirs: Path):
    content = gzip.compress((theirs / MODEL).read_bytes())
    (theirs / MODEL).unlink()
    (theirs / f"{MODEL}.gz").write_bytes(content[:-100])
    assert message_of() == (
        f"ff/{MODEL}.gz must be a complete compressed file, but it cannot be unpacked (Compressed file ended before the end-of-stream marker was reached). {AGAIN}"
    )


def test_a_packed_file_that_never_ends(theirs: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(firefox_files, "LARGEST", 10_000)
    (theirs / MODEL).unlink()
    (theirs / f"{MODEL}.gz").write_bytes(gzip.compress(b"\0" * 1_000_000))
    assert message_of() == f"ff/{MODEL}.gz must be a file of at most 10,000 bytes, but it has more. {FOREIGN}"


def test_metadata(theirs: Path):
    (theirs / "metadata.json").write_text("{")
    assert message_of().startswith("ff/metadata.json must be JSON, but it cannot be read as such (")
    (theirs / "metadata.json").write_text("[]")
    assert message_of() == f"ff/metadata.json must be a JSON object, but it is a list. {AGAIN}"
    (theirs / "metadata.json").write_text(json.dumps({"hash": "59ae659f"}))
    assert message_of() == f"ff/{MODEL} must be the file whose sha256 metadata.json has, but it is another. {AGAIN}"


# The model


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.1, 0.5, 0.9999])
def test_a_model_that_is_cut_short(theirs: Path, share: float):
    content = (theirs / MODEL).read_bytes()
    (theirs / MODEL).write_bytes(content[: int(share * len(content))])
    assert message_of().startswith(f"ff/{MODEL} must be a complete Marian binary, but it ends ")


def test_a_model_of_another_format(theirs: Path):
    (theirs / MODEL).write_bytes(b"PK\x03\x04" + b"\0" * 100)
    assert message_of() == (
        f"ff/{MODEL} must be a Marian binary of version 1, but it says version 67,324,752. {FOREIGN}"
    )


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (8, 2**63, "a Marian binary of version 1, but it says 9,223,372,036,854,775,808 arrays"),
        (16, 2**40, "a Marian binary, but it has a name of 1,099,511,627,776 bytes or an array of 1 axes"),
        (16, 0, "a Marian binary, but it has a name of 0 bytes or an array of 1 axes"),
        (32, 2**62, "a Marian binary, but it has a name of 18 bytes or an array of 4,611,686,018,427,387,904 axes"),
        (40, 2**64 - 1, "a complete Marian binary, but it ends 18,446,744,073,7"),
    ],
)
def test_huge_counts(theirs: Path, at: int, value: int, message: str):
    patch(theirs / MODEL, at, "<Q", value)
    assert message_of().startswith(f"ff/{MODEL} must be {message}")


def test_more_bytes_than_arrays(theirs: Path):
    (theirs / MODEL).write_bytes((theirs / MODEL).read_bytes() + b"\0" * 12)
    assert message_of() == f"ff/{MODEL} must be a Marian binary, but it has 12 bytes more than its arrays. {AGAIN}"


def test_two_arrays_of_one_name(theirs: Path):
    content = (theirs / MODEL).read_bytes()
    (theirs / MODEL).write_bytes(content.replace(b"encoder_l1_self_Wq\0", b"encoder_l1_self_Wk\0"))
    assert message_of() == f"ff/{MODEL} must be a Marian binary, but it has several arrays of one name. {AGAIN}"


def test_types_sizes_and_numbers(theirs: Path):
    content = (theirs / MODEL).read_bytes()
    second = 16 + 32  # the header of Wemb; its shape follows that of the settings, after all names
    patch(theirs / MODEL, second + 8, "<Q", 0x808)
    assert message_of() == (
        f"ff/{MODEL} must be a model of float32, intgemm8 and intgemm16, but Wemb has type 0x808. {AGAIN}"
    )
    count = struct.unpack_from("<Q", content, 8)[0]
    shapes = 16 + 32 * count + sum(struct.unpack_from("<Q", content, 16 + 32 * item)[0] for item in range(count))
    for rows, shown in ((2**31 - 1, "2147483647 × 16"), (-5, "-5 × 16"), (0, "0 × 16")):
        (theirs / MODEL).write_bytes(content)
        patch(theirs / MODEL, shapes + 4, "<i", rows)
        assert f"must be a model whose Wemb has {shown} numbers, but it has " in message_of()
    (theirs / MODEL).write_bytes(content)
    bias = np.full((1, 107), np.nan, np.float32)
    rewrite(theirs / MODEL, decoder_ff_logit_out_b=bias)
    assert (
        message_of() == f"ff/{MODEL} must be a model of finite numbers, but decoder_ff_logit_out_b has others. {AGAIN}"
    )


def test_a_scale_of_zero(theirs: Path):
    content = (theirs / MODEL).read_bytes()
    tables = bergamot.random_tensors([len(bergamot.processor(bergamot.spm("both")))] * 2, separate=False)
    whole, scale = bergamot.quantised("Wemb", tables["Wemb"])
    stored = whole.tobytes() + struct.pack("<f", scale)
    (theirs / MODEL).write_bytes(content.replace(stored, whole.tobytes() + struct.pack("<f", 0.0)))
    assert message_of() == f"ff/{MODEL} must be a model of finite numbers, but Wemb has others. {AGAIN}"


def test_no_settings(theirs: Path):
    content = (theirs / MODEL).read_bytes()
    (theirs / MODEL).write_bytes(content.replace(b"special:model.yml", b"special:model.xml"))
    assert message_of() == (
        f"ff/{MODEL} must be a model with its settings (special:model.yml), but it has none. {FOREIGN}"
    )


def test_settings_that_cannot_be_expressed(theirs: Path):
    rewrite(theirs / MODEL, {"transformer-decoder-autoreg": "self-attention", "transformer-preprocess": "n"})
    assert message_of() == (
        f"ff/{MODEL} must hold a tiny, base or base-memory student as Firefox has them, but transformer-decoder-autoreg must be rnn, not self-attention; transformer-preprocess must be empty, not n. There is no import for other Marian models in this format."
    )
    rewrite(theirs / MODEL, {"dim-emb": "16.5", "enc-depth": 10**12, "transformer-tied-layers": "\n  - 1\n  - 1"})
    assert "transformer-tied-layers must be [], not ['1', '1']; enc-depth must be an integer from 1 to" in message_of()
    rewrite(theirs / MODEL, {"transformer-heads": 3})
    assert "but dim-emb must be an even multiple of transformer-heads." in message_of()


def test_arrays_that_do_not_fit_the_settings(theirs: Path):
    wrong = np.ones((3, 16), np.float32)
    rewrite(theirs / MODEL, encoder_l1_self_Wk=None, decoder_l1_ffn_W3=wrong, encoder_l2_ffn_b1=wrong[:1])
    assert message_of() == (
        f"The arrays of ff/{MODEL} must be those that its settings describe, but decoder_l1_ffn_W3 is not a part of such a model; encoder_l1_self_Wk is missing; encoder_l2_ffn_b1 must have shape (1, 24), not (1, 16). It is damaged or of another make: download it again."
    )
    rewrite(theirs / MODEL, Wemb=None)
    assert "but decoder_Wemb is missing; " in message_of()


# Vocabulary and shortlist


def test_a_vocabulary_of_another_model(theirs: Path):
    (theirs / VOCABULARY).write_bytes(b"no model")
    assert message_of() == f"ff/{VOCABULARY} must be a SentencePiece model, but it cannot be read as one. {AGAIN}"
    (theirs / VOCABULARY).write_bytes(bergamot.spm("en"))
    size, other = (len(bergamot.processor(bergamot.spm(language))) for language in ("both", "en"))
    assert message_of() == (
        f"ff/{VOCABULARY} must have {size} pieces, as the model has rows, with the ids 0 of </s> and 1 of <unk>, but it has {other} pieces and the ids 0 and 1. The files do not belong together: download all of them again."
    )


@pytest.mark.parametrize("size", [0, 47, 48, 500, -4])
def test_a_shortlist_that_is_cut_short(theirs: Path, size: int):
    (theirs / LEX).write_bytes((theirs / LEX).read_bytes()[:size])
    assert message_of().startswith(f"ff/{LEX} must be a")


def test_a_shortlist_of_another_format(theirs: Path):
    patch(theirs / LEX, 0, "<Q", 1)
    assert message_of() == f"ff/{LEX} must be a binary shortlist of Marian, but it does not begin like one. {AGAIN}"


def test_a_shortlist_of_another_size(theirs: Path):
    patch(theirs / LEX, 40, "<Q", 2**60)
    size, count = (theirs / LEX).stat().st_size, len(bergamot.processor(bergamot.spm("both"))) + 1
    assert message_of() == (
        f"ff/{LEX} must be a shortlist of {count} offsets and 1,152,921,504,606,846,976 words, as it says, but it has {size:,} bytes. {AGAIN}"
    )


def test_a_shortlist_that_was_changed(theirs: Path):
    content = bytearray((theirs / LEX).read_bytes())
    content[-4] ^= 1
    (theirs / LEX).write_bytes(content)
    assert message_of() == f"ff/{LEX} must be the shortlist that was written, but its checksum is another. {AGAIN}"


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ([[2, 3]] * 5, "it has 5 source tokens instead of {size}"),
        ("beyond", "some of its tokens are not among the {size} of the target vocabulary"),
        ("backwards", "its offsets do not divide the tokens among the source tokens"),
    ],
)
def test_a_shortlist_of_another_model(theirs: Path, lists: object, problem: str):
    size = len(bergamot.processor(bergamot.spm("both")))
    made = bergamot.binary_shortlist(lists if isinstance(lists, list) else [[2, 3]] * (size - 1) + [[size]], first=6)
    if lists == "backwards":
        body = bytearray(made[16:])
        struct.pack_into("<Q", body, 32 + 8, 9)
        made = made[:8] + struct.pack("<Q", bergamot.checksum(bytes(body))) + body
    (theirs / LEX).write_bytes(made)
    assert message_of() == (
        f"ff/{LEX} must be a shortlist of this model, but {problem.format(size=size)}. Download all files of the model again."
    )
