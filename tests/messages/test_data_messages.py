"""Each mistake with data: what must hold, what came, what to do."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saccade.data.prepare import Prepared, prepare
from saccade.data.sampler import Position, Sampler
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.errors import DataError, ModelError, OutputExists, SaccadeError
from saccade.text.formats import lines, tsv
from saccade.text.formats.glossary import read_glossary
from saccade.text.formats.opening import open_text
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.text.wording import Wording

TOKENIZER = TokenizerSettings(vocabulary=300)


def _message(act: Callable[[], object], kind: type[SaccadeError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    return str(caught.value)


def _write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _data(directory: Path, pairs: list[tuple[str, str]], **changes: object) -> DataSettings:
    source = _write(directory / "a.en", (pair[0] for pair in pairs))
    target = _write(directory / "a.de", (pair[1] for pair in pairs))
    corpus = CorpusSettings(source=source, target=target)
    settings = DataSettings(source_language="en", target_language="de", train=(corpus,), hold_out=0)
    return replace(settings, **changes)  # type: ignore[arg-type]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A small prepared corpus, to be spoilt."""
    data = _data(tmp_path, [(f"A dog {number}.", f"Ein Hund {number}.") for number in range(30)])
    return prepare(data, TOKENIZER, tmp_path / "prepared", seed=1).directory


# -- files --


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "train.en"
    message = _message(lambda: list(open_text(path, key="data.train[0].source")))
    assert message == (
        f"The file {path}, named by data.train[0].source, must exist, but it does not. Check the path; in a recipe, "
        "relative ones start from the recipe's own directory. docs/data.md says where the public data sets come "
        "from."
    )
    assert f"The file {path} must exist" in _message(lambda: list(open_text(path)))


def test_missing_file_of_a_recipe_is_named_with_its_setting(tmp_path: Path) -> None:
    missing = CorpusSettings(source=tmp_path / "a.en", target=tmp_path / "b.de")
    data = _data(tmp_path, [("a", "b")])
    message = _message(lambda: prepare(replace(data, valid=(missing,)), TOKENIZER, tmp_path / "out", seed=1))
    assert f"The file {tmp_path / 'b.de'}, named by data.valid.target, must exist" in message


def test_directory_instead_of_a_file(tmp_path: Path) -> None:
    message = _message(lambda: list(open_text(tmp_path, key="data.valid.file")))
    assert message == (
        f"{tmp_path}, named by data.valid.file, must be a text file, but it is a directory. Name the file inside it."
    )


def test_unequal_line_counts(tmp_path: Path) -> None:
    a, b = _write(tmp_path / "a.en", ["x"] * 900), _write(tmp_path / "a.de", ["y"] * 897)
    expected = (
        f"{a} has 900 lines but {b} has 897. Line n of one must translate line n of the other; "
        "find the line that is missing or was split in two."
    )
    assert _message(lambda: list(lines.read_pairs(a, b))) == expected
    assert f"{b} has 897 lines but {a} has 900." in _message(lambda: list(lines.read_pairs(b, a)))


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.de"
    path.write_bytes("gut\nStraße\n".encode("latin-1"))
    message = _message(lambda: list(open_text(path)))
    assert message.startswith(f"{path} must be UTF-8 text, but byte 5 of line 2 is 0xDF, which is not.")
    assert message.endswith(f"iconv -f WINDOWS-1252 -t UTF-8 {path} > a.utf8.de")


def test_utf16_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.de"
    path.write_text("gut\n", encoding="utf-16")
    message = _message(lambda: list(open_text(path)))
    assert "byte 1 of line 1 is 0xFF" in message
    assert "iconv -f UTF-16 -t UTF-8" in message


def test_compressed_file_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    message = _message(lambda: list(open_text(path)))
    assert f"{path} must be a complete compressed file, but it is damaged after line" in message
    assert message.endswith("Copy or download it again.")


def test_tsv_line_without_a_tab(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.tsv", ["a\tb", "c d"])
    told = _message(lambda: list(tsv.read_pairs(path)))
    assert told.startswith(f"Every line of {path} must hold a source, a tab and a target, but line 2 has no tab.")
    assert "give two files of lines as `source` and `target`" in told


# -- corpora --


def test_empty_corpus(tmp_path: Path) -> None:
    data = _data(tmp_path, [])
    assert _message(lambda: prepare(data, TOKENIZER, tmp_path / "out", seed=1)) == (
        f"The training corpus must leave at least one pair to learn from, but {tmp_path / 'a.en'}, "
        f"{tmp_path / 'a.de'} leave none: 0 pairs were read. Check that these are the right files and the "
        "settings of [data.cleaning]."
    )
    assert not (tmp_path / "out").exists()


def test_corpus_empty_after_cleaning(tmp_path: Path) -> None:
    data = _data(tmp_path, [("", "x"), ("y", ""), ("A dog runs across the street.", "?")])
    message = _message(lambda: prepare(data, TOKENIZER, tmp_path / "out", seed=1))
    assert (
        "leave none: 3 pairs were read; left out were 2 because a side is empty, "
        "1 because the sides differ too much in length." in message
    )


def test_every_sentence_too_long(tmp_path: Path) -> None:
    data = _data(tmp_path, [("a b c", "d e f")], max_tokens=2)
    assert _message(lambda: prepare(data, TOKENIZER, tmp_path / "out", seed=1)) == (
        "data.max_tokens must leave something to learn from, but it is 2 and no pair is so short: "
        "1 pairs were read; left out were 1 because a side has too many tokens. Raise it."
    )


def test_holding_out_too_much(tmp_path: Path) -> None:
    data = _data(tmp_path, [("a", "b"), ("c", "d"), ("e", "f")], hold_out=2)
    message = _message(lambda: prepare(data, TOKENIZER, tmp_path / "out", seed=1))
    assert message.startswith("data.hold_out must leave at least half of the corpus to learn from, but it is 2 of 3 ")
    assert message.endswith("Lower it, give more data, or name a validation corpus as data.valid.")


def test_empty_validation_corpus(tmp_path: Path) -> None:
    empty = CorpusSettings(file=_write(tmp_path / "v.tsv", ["\tx", ""]))
    data = _data(tmp_path, [("a", "b")], valid=(empty,))
    message = _message(lambda: prepare(data, TOKENIZER, tmp_path / "out", seed=1))
    assert message.startswith(f"The validation corpus {tmp_path / 'v.tsv'} must have a pair with text on both sides")
    assert "none of its 2 has" in message
    assert message.endswith("Check data.valid, or leave it out to hold pairs out of data.train.")


def test_output_that_is_something_else(tmp_path: Path) -> None:
    data = _data(tmp_path, [("a", "b")])
    for path in (tmp_path, tmp_path / "a.en"):
        message = _message(lambda path=path: prepare(data, TOKENIZER, path, seed=1), OutputExists)  # type: ignore[misc]
        assert message == (
            f"{path} must be new, empty or a prepared corpus, which is then replaced, but it is none of these. "
            "Choose another path or remove it."
        )
    assert (tmp_path / "a.en").read_text(encoding="utf-8") == "a\n"


def test_a_corpus_without_examples() -> None:
    sampler = Sampler(np.empty((0, 2), np.int64), max_tokens=100, seed=1)
    assert _message(lambda: next(sampler.batches(Position()))) == (
        "A training needs examples, but the corpus has none. Give it more data."
    )


# -- prepared directories --


def test_directory_that_is_no_prepared_corpus(tmp_path: Path) -> None:
    assert _message(lambda: Prepared.open(tmp_path)) == (
        f"{tmp_path} must be a prepared corpus, but its prepared.json is missing or damaged. "
        "Make one with `saccade prepare`."
    )


def test_prepared_corpus_of_another_version(prepared: Path) -> None:
    meta = json.loads((prepared / "prepared.json").read_text(encoding="utf-8"))
    (prepared / "prepared.json").write_text(json.dumps(meta | {"version": 99}), encoding="utf-8")
    assert "must be a prepared corpus of version 3, but it is of version 99." in _message(
        lambda: Prepared.open(prepared)
    )


@pytest.mark.parametrize("name", ["source.ids", "target.offsets"])
def test_store_cut_short(prepared: Path, name: str) -> None:
    path = prepared / "train" / name
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    assert _message(lambda: Prepared.open(prepared)) == (
        f"{path} must have {len(content)} bytes, but it has {len(content) - 3}: it was cut short or changed. "
        "Run `saccade prepare` again."
    )


def test_store_without_its_description(prepared: Path) -> None:
    (prepared / "train" / "store.json").write_text("{", encoding="utf-8")
    assert _message(lambda: Prepared.open(prepared)) == (
        f"{prepared / 'train'} must be a token store, but its store.json is missing or damaged. "
        "Run `saccade prepare` again."
    )


def test_tokenizers_of_another_corpus(prepared: Path) -> None:
    Tokenizer.learn(["other text"], TOKENIZER, seed=1).save(prepared / "tokenizer.spm")
    assert _message(lambda: Prepared.open(prepared)) == (
        f"{prepared} must hold the tokenizers that its corpus was encoded with, but they were exchanged: every id "
        "would mean another piece. Run `saccade prepare` again."
    )


# -- tokenizers --


def test_vocab_file_instead_of_a_model(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.vocab", ["<unk>\t0", "<s>\t0", "</s>\t0", "▁the\t-3.1"])
    assert _message(lambda: Tokenizer.load(path), ModelError) == (
        f"{path} must be a SentencePiece model, but it cannot be read as one. SentencePiece writes two files, and "
        "the `.vocab` file only lists the pieces: give the `.model` file. If this is it, it is damaged: make it "
        "again with `saccade prepare`."
    )


@pytest.mark.parametrize("spoil", [lambda model: model[:-20], lambda model: b"", lambda model: b"\0" * 100])
def test_damaged_model(prepared: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = prepared / "tokenizer.spm"
    path.write_bytes(spoil(path.read_bytes()))
    message = _message(lambda: Tokenizer.load(path), ModelError)
    assert message.startswith(f"{path} must be a SentencePiece model, but it cannot be read as one.")


def test_model_with_other_specials(tmp_path: Path) -> None:
    import io

    import sentencepiece

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(["a dog"]),
        model_writer=writer,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=3,
    )
    (tmp_path / "a.model").write_bytes(writer.getvalue())
    message = _message(lambda: Tokenizer.load(tmp_path / "a.model"), ModelError)
    assert message.startswith(
        f"{tmp_path / 'a.model'} must begin with the pieces <pad> <unk> <s> </s> (ids 0 to 3), but it begins with "
        "<unk> <s> </s> "
    )
    assert "pad_id=0, unk_id=1, bos_id=2, eos_id=3" in message


def test_missing_tokenizers(tmp_path: Path, prepared: Path) -> None:
    message = _message(lambda: Tokenizer.load(tmp_path / "none.spm"), ModelError)
    assert message.startswith(f"{tmp_path / 'none.spm'} must be a SentencePiece model file, but it cannot be read: No")
    shutil.copy(prepared / "tokenizer.spm", tmp_path / "source.spm")
    assert _message(lambda: Tokenizers.load(tmp_path), ModelError).startswith(
        f"{tmp_path} must hold tokenizer.spm, or source.spm and target.spm, but it does not."
    )


def test_vocabulary_too_small_for_the_characters() -> None:
    text = ["".join(map(chr, range(0x4E00, 0x4E00 + 500)))]
    assert _message(lambda: Tokenizer.learn(text, TOKENIZER, seed=1)) == (
        "tokenizer.vocabulary must be at least 761 for this corpus, to hold its characters, the specials and the "
        "256 bytes, but it is 300. Raise it, or lower tokenizer.character_coverage (0.9995 is usual for Chinese), "
        "or set tokenizer.byte_fallback to false."
    )


def test_nothing_to_learn_a_tokenizer_from() -> None:
    assert _message(lambda: Tokenizer.learn(["", " \u200b"], TOKENIZER, seed=1)) == (
        "A tokenizer is learned from text, but no line of the corpus holds any. "
        "Check that the files under data.train are the right ones."
    )


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("cat", "1 column."),
        ("cat\t", "an empty column."),
        ("\tKatze", "an empty column."),
        ("cat\tKatze\tKater", "3 columns."),
    ],
)
def test_a_line_of_a_glossary_that_is_no_pair(line: str, columns: str, tmp_path: Path):
    path = _write(tmp_path / "terms.tsv", ["dog\tHund", "", line])
    message = _message(lambda: read_glossary(path))
    assert f"Every line of {path} must have two columns" in message
    assert f"line 3 has {columns}" in message


def test_a_glossary_with_two_translations_of_a_phrase(tmp_path: Path):
    path = _write(tmp_path / "terms.tsv", ["dog\tHund", "dog\tKöter"])
    assert _message(lambda: read_glossary(path)) == (
        f"Every phrase of {path} must have one translation, but line 2 has another one of 'dog' than a line before it. Leave one of them out."
    )


@pytest.mark.parametrize("name", ["banned", "required"])
def test_phrases_that_are_none(name: str):
    assert _message(lambda: Wording(**{name: "Hund"})) == (
        f"{name} must be a list of phrases, but it is one text. Write ['Hund']."
    )
    assert _message(lambda: Wording(**{name: ["Hund", " "]})) == (
        f"{name} must be phrases with at least one character each, but one of them has none."
    )


def test_a_glossary_without_a_translation():
    assert _message(lambda: Wording(glossary={"dog": ""})) == (
        "A glossary must have a phrase on both sides, but 'dog' → '' has none on one of them."
    )
