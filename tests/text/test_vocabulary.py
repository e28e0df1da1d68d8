"""A tokenizer whose ids come from a list: SentencePiece cuts, with its own normaliser, and the list numbers."""

import io
from pathlib import Path

import pytest
import sentencepiece

from saccade.errors import ModelError
from saccade.text.tokenizer import SPECIALS, UNK, Tokenizer, Tokenizers
from saccade.text.vocabulary import Vocabulary, split_code

LINES = ["a dog runs", "the dog sleeps", "dogs run and sleep"]


@pytest.fixture(scope="module")
def model() -> bytes:
    """With SentencePiece's own specials and normaliser."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(LINES), model_writer=writer, vocab_size=40, hard_vocab_limit=False, minloglevel=3
    )
    return writer.getvalue()


@pytest.fixture(scope="module")
def tokenizer(model: bytes) -> Tokenizer:
    """Its pieces in reverse, without `s`, and with one that it does not know."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    own = [processor.id_to_piece(id) for id in reversed(range(3, len(processor)))]
    return Tokenizer(model, Vocabulary([*SPECIALS, *(piece for piece in own if piece != "s"), "中", ">>fr<<"]))


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.piece(id) for id in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("do", ["▁", "d", "o"]),
        ("d ｏ", ["▁", "d", "▁", "o"]),  # full width
        ("ds", ["▁", "d", "<unk>"]),  # a piece, but not in the list
        ("d中", ["▁", "d", "中"]),  # in the list, but no piece
        ("d中文", ["▁", "d", "<unk>"]),  # one unknown stretch, which is not in the list
        (">>fr<< do", [">>fr<<", "▁", "d", "o"]),
        (">>xx<<do", ["<unk>", "▁", "d", "o"]),
        ("", []),
    ],
)
def test_the_list_numbers_what_sentencepiece_cuts(model: bytes, text: str, expected: list[str]) -> None:
    letters = Vocabulary([*SPECIALS, "▁", "d", "o", "中", ">>fr<<"])
    single = Tokenizer(_characters(), letters)
    assert pieces(single, text) == expected
    assert list(single.encode_with_spans(text).ids) == single.encode(text) == single.encode_many([text])[0]


def _characters() -> bytes:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(LINES),
        model_writer=writer,
        model_type="char",
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=3,
    )
    return writer.getvalue()


def test_spans_refer_to_the_text_as_it_was_given(tokenizer: Tokenizer) -> None:
    text = ">>fr<< the  ｄｏｇ\t😀"
    encoded = tokenizer.encode_with_spans(text)
    assert tokenizer.normalize(text) == text
    assert (encoded.pieces[0], encoded.spans[0]) == (">>fr<<", (0, 6))
    spelled = "".join(text[start:end] for start, end in encoded.spans)
    assert "".join(spelled.split()) == "".join(text.split())
    assert [id for id, (start, end) in zip(encoded.ids, encoded.spans, strict=True) if "😀" in text[start:end]] == [UNK]


def test_half_a_surrogate_pair_is_no_character(tokenizer: Tokenizer) -> None:
    assert tokenizer.normalize("a\ud800 b") == "a\ufffd b"
    assert tokenizer.encode("a\ud800") == tokenizer.encode("a\ufffd")


@pytest.mark.parametrize("text", ["the dog runs", "dogs and 中", ">>fr<< a dog"])
def test_texts_come_back(tokenizer: Tokenizer, text: str) -> None:
    kept = text.replace("s", "")  # the piece `s` is not in the list
    ids = tokenizer.encode(kept)
    assert UNK not in ids
    decoded, spans = tokenizer.decode_with_spans(ids)
    assert decoded == tokenizer.decode(ids) == kept
    assert "".join(decoded[start:end] for start, end in spans).strip() == kept


def test_specials_are_dropped_and_the_unknown_is_shown(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a dog")
    assert tokenizer.decode([0, 2, *ids, 3, 0]) == "a dog"
    assert tokenizer.decode([*ids, UNK]) == "a dog ⁇"
    assert tokenizer.decode([]) == ""


def test_other_segmentations_spell_the_same(tokenizer: Tokenizer) -> None:
    texts = [tokenizer.encode(text) for text in [">>fr<< the dog and", "run and"] * 20]
    sampled = tokenizer.resample(texts, 0.1, seed=1)
    assert sampled == tokenizer.resample(texts, 0.1, seed=1)
    assert sampled != texts
    known = [(new, old) for new, old in zip(sampled, texts, strict=True) if UNK not in new]
    assert len(known) > 10
    assert all(tokenizer.decode(new) == tokenizer.decode(old) for new, old in known)


def test_it_is_saved_and_loaded_with_its_list(tokenizer: Tokenizer, model: bytes, tmp_path: Path) -> None:
    other = Tokenizer(model, Vocabulary([*SPECIALS, "a"]))
    both = Tokenizers(tokenizer, other)
    both.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "source.pieces.json",
        "source.spm",
        "target.pieces.json",
        "target.spm",
    ]
    loaded = Tokenizers.load(tmp_path)
    assert loaded.checksums == both.checksums
    assert tokenizer.checksum != other.checksum, "the same model, but other ids"
    assert loaded.source.encode("the dog") == tokenizer.encode("the dog")
    assert not loaded.shares_vocabulary
    assert len(loaded.target) == 5


def test_the_code_of_a_language_stands_at_the_beginning() -> None:
    assert split_code(">>fr<< a dog") == (">>fr<<", " a dog")
    assert split_code(" >>fr<< a dog") == ("", " >>fr<< a dog")
    assert split_code(">>fr a dog") == ("", ">>fr a dog")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "must be a JSON list of pieces, all of them strings, but it cannot be read"),
        ('{"a": 1}', "must be a JSON list of pieces, all of them strings, but it is something else"),
        ('["<unk>", 3]', "must be a JSON list of pieces, all of them strings, but it is something else"),
        ('["<unk>", "a", "a"]', "must list every piece once, and <unk> among them, but it has 3 entries with 2"),
        ('["a"]', "it has 1 entries with 1 different pieces and no <unk>"),
    ],
)
def test_a_damaged_list_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "source.pieces.json").write_text(content, "utf-8")
    with pytest.raises(ModelError, match=message):
        Vocabulary.load(tmp_path / "source.pieces.json")


def test_a_list_without_our_specials_is_refused(model: bytes) -> None:
    with pytest.raises(ModelError, match="must begin with the pieces <pad> <unk> <s> </s>"):
        Tokenizer(model, Vocabulary(["</s>", "<unk>", "a", "<pad>"]))
