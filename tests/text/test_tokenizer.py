from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from saccade.errors import ModelError
from saccade.text.normalize import normalize
from saccade.text.tokenizer import BOS, EOS, PAD, SPECIALS, UNK, Tokenizer, Tokenizers, TokenizerSettings
from saccade.text.vocabulary import Vocabulary

Learn = Callable[..., Tokenizer]

TEXTS = [
    "Ein Hündchen läuft.",
    "你好，世界！",
    "a 😀b 𐍈 c👩\u200d🔬",
    "e\u0301 café naïve",
    "a  b\u3000c",
    "<s> is not a special </s> <pad> <0x41>",
    "▁a▁ b▁",
    "▅ ⁇ \ufffd",
    "",
]

# The fixture only hands out a tokenizer that never changes.
unchanging = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


# -- what goes in comes out --


@unchanging
@given(text=st.text())
@example(text="a▁b")
@example(text="▁")
@example(text="<s> </s> <unk> <0x41>")
@example(text="▅ ⁇ \ufffd")
@example(text="\ud800\x00")
def test_decode_restores_any_text(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == normalize(text)


@unchanging
@given(text=st.text())
def test_spans_follow_one_another_through_the_text(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode_with_spans(text)
    assert list(encoded.ids) == tokenizer.encode(text)
    assert len(encoded.ids) == len(encoded.pieces) == len(encoded.spans)
    ends = [0, *(end for _, end in encoded.spans)]
    assert [start for start, _ in encoded.spans] == ends[:-1]
    assert ends[-1] == len(normalize(text))


@pytest.mark.parametrize("text", TEXTS)
def test_a_span_holds_the_characters_of_its_piece(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode_with_spans(text)
    normal = normalize(text)
    for id, piece, (start, end) in zip(encoded.ids, encoded.pieces, encoded.spans, strict=True):
        assert piece == tokenizer.piece(id)
        if not piece.startswith("<0x"):
            assert normal[start:end].strip() == piece.replace("▁", "")


@unchanging
@given(text=st.text())
@example(text="Ein Hündchen 😀läuft，你好👩\u200d🔬！")
def test_what_is_decoded_has_the_spans_of_what_was_encoded(tokenizer: Tokenizer, text: str) -> None:
    encoded = tokenizer.encode_with_spans(text)
    assert tokenizer.decode_with_spans(encoded.ids) == (normalize(text), encoded.spans)


@unchanging
@given(data=st.data())
def test_spans_of_whatever_a_model_writes_cover_its_text(tokenizer: Tokenizer, data: st.DataObject) -> None:
    """Any ids at all: bytes that are no character, specials, marks of spaces in a row."""
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1) | st.integers(4, 259), max_size=12))
    text, spans = tokenizer.decode_with_spans(ids)
    assert text == tokenizer.decode(ids)
    assert len(spans) == len(ids)
    ends = [0, *(end for _, end in spans)]
    assert [start for start, _ in spans] == ends[:-1]
    assert ends == sorted(ends)
    assert ends[-1] == len(text)
    for id, (start, end) in zip(ids, spans, strict=True):
        piece = tokenizer.piece(id).replace("▁", " ")
        if id in (PAD, BOS, EOS):
            assert start == end
        elif id != UNK and not piece.startswith("<0x"):
            assert text[start:end] in (piece, piece.removeprefix(" ") if start == 0 else piece)


def test_the_last_byte_of_a_character_carries_its_span(learn: Learn) -> None:
    encoded = learn("char").encode_with_spans("a😀b")
    assert encoded.pieces == ("▁", "a", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "b")
    assert encoded.spans == ((0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 3))


def test_bytes_that_are_no_character_are_shown_one_by_one(learn: Learn) -> None:
    tokenizer = learn("char")
    first = tokenizer.encode_with_spans("😀").ids[1] - 0xF0  # <0x00>
    assert tokenizer.decode_with_spans([first + 0xE4, first + 0xBD, first + 0x41]) == (
        "\ufffd\ufffdA",
        ((0, 1), (1, 2), (2, 3)),
    )
    assert tokenizer.decode_with_spans([]) == ("", ())


def test_many_at_once_are_encoded_as_one_by_one(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode_many(TEXTS) == [tokenizer.encode(text) for text in TEXTS]
    assert tokenizer.encode_many([]) == []


def test_full_width_punctuation_survives(tokenizer: Tokenizer) -> None:
    assert "，" in tokenizer.encode_with_spans("你好，世界！").pieces


def test_specials_are_never_read_from_text_and_never_shown(tokenizer: Tokenizer) -> None:
    assert tuple(tokenizer.piece(id) for id in (PAD, UNK, BOS, EOS)) == SPECIALS
    assert not {PAD, UNK, BOS, EOS} & set(tokenizer.encode("<pad> <unk> <s> </s>"))
    ids = np.array([BOS, *tokenizer.encode("the dog"), EOS, PAD])
    assert tokenizer.decode(ids) == "the dog"


def test_without_bytes_the_unknown_is_shown(learn: Learn) -> None:
    tokenizer = learn("bpe", byte_fallback=False, vocabulary=200)
    ids = tokenizer.encode("the ψω dog")
    assert ids.count(UNK) == 1
    assert "⁇" in tokenizer.decode(ids)


# -- learning --


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_learning_is_reproducible_and_silent(kind: str, lines: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    wanted = TokenizerSettings(kind=kind, vocabulary=400, max_sentences=20)  # type: ignore[arg-type]
    first, again, other = (Tokenizer.learn(iter(lines), wanted, seed) for seed in (1, 1, 2))
    assert first.checksum == again.checksum
    assert first.checksum != other.checksum
    assert capfd.readouterr() == ("", "")


def test_a_vocabulary_too_large_for_the_corpus_becomes_smaller(tokenizer: Tokenizer) -> None:
    learned = Tokenizer.learn(["ab ab"], TokenizerSettings(kind=tokenizer.kind, vocabulary=5000), seed=1)
    assert 4 + 256 < len(learned) < 300
    assert learned.decode(learned.encode("ab ab")) == "ab ab"


def test_long_lines_are_learned_from_too() -> None:
    line = " ".join(["straße"] * 2000)
    learned = Tokenizer.learn([line], TokenizerSettings(vocabulary=300), seed=1)
    assert learned.encode_with_spans("straße").pieces == ("▁straße",)


def test_digits_can_be_split(learn: Learn) -> None:
    pieces = learn("bpe", split_digits=True).encode_with_spans("1234").pieces
    assert "".join(pieces) == "▁1234"
    assert all(sum(map(str.isdigit, piece)) <= 1 for piece in pieces)


@pytest.mark.parametrize(
    "changes",
    [
        {"vocabulary": 4},
        {"character_coverage": 1.5},
        {"max_sentences": 0},
        {"sampling": 1.0},
        {"sampling": 0.1, "kind": "char"},
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(changes))} must be"):
        TokenizerSettings(**changes)  # type: ignore[arg-type]


# -- subword regularisation --


def test_samples_spell_the_text_and_are_reproducible(tokenizer: Tokenizer) -> None:
    encoded = [tokenizer.encode(text) for text in TEXTS]
    samples = tokenizer.resample(encoded, 0.5, seed=7)
    assert samples == tokenizer.resample(encoded, 0.5, seed=7)
    assert [tokenizer.decode(ids) for ids in samples] == [normalize(text) for text in TEXTS]


@pytest.mark.parametrize(("kind", "varies"), [("bpe", True), ("unigram", True), ("char", False)])
def test_samples_vary(learn: Learn, kind: str, varies: bool) -> None:
    tokenizer = learn(kind)
    text = tokenizer.encode("Two young men are playing football.")
    assert (len({tuple(ids) for ids in tokenizer.resample([text] * 20, 0.2, seed=1)}) > 5) == varies


# -- on disk --


def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "a.spm")
    loaded = Tokenizer.load(tmp_path / "a.spm")
    assert loaded.checksum == tokenizer.checksum
    assert loaded.kind == tokenizer.kind
    assert [loaded.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]


def test_kind_is_told_from_the_model(learn: Learn) -> None:
    assert [learn(kind).kind for kind in ("bpe", "unigram", "char")] == ["bpe", "unigram", "char"]


def test_tokenizers_shared_or_not(learn: Learn, tmp_path: Path) -> None:
    bpe, char = learn("bpe"), learn("char")
    for name, pair, files in [
        ("one", Tokenizers(bpe, bpe), {"tokenizer.spm"}),
        ("two", Tokenizers(bpe, char), {"source.spm", "target.spm"}),
    ]:
        directory = tmp_path / name
        directory.mkdir()
        pair.save(directory)
        assert {path.name for path in directory.iterdir()} == files
        loaded = Tokenizers.load(directory)
        assert loaded.shared == pair.shared == (len(files) == 1)
        assert (loaded.source.checksum, loaded.target.checksum) == (
            pair.source.checksum,
            pair.target.checksum,
        )


@pytest.mark.parametrize("text", ["Hund", "dog", "狗在草地", "zz", "🐕", ". The", ""])
def test_a_text_within_another_has_no_space_before_it(tokenizer: Tokenizer, text: str):
    assert tokenizer.decode([*tokenizer.encode("A"), *tokenizer.encode_within(text)]) == "A" + text
    imported = Tokenizer(tokenizer.model, Vocabulary([tokenizer.piece(id) for id in range(len(tokenizer))]))
    assert imported.encode_within(text) == tokenizer.encode_within(text)


# -- tags --

TAGS = (">>de<<", ">>zh<<")


@pytest.fixture(params=["bpe", "unigram", "char"])
def with_tags(request: pytest.FixtureRequest, lines: list[str]) -> Tokenizer:
    return Tokenizer.learn(lines, TokenizerSettings(kind=request.param, vocabulary=450), seed=1, tags=TAGS)


@pytest.mark.parametrize("text", [*TEXTS, ">>de<< is text here"])
def test_a_tag_stands_before_every_text_and_for_none(with_tags: Tokenizer, text: str):
    tagged = with_tags.tagged(">>zh<<")
    (tag,) = tagged.tag
    assert with_tags.piece(tag) == ">>zh<<"
    ids = with_tags.encode(text)
    assert not {with_tags.tagged(known).tag[0] for known in TAGS} & set(ids)
    assert tagged.encode(text) == ([tag, *ids] if ids else [])
    encoded = tagged.encode_with_spans(text)
    assert list(encoded.ids) == tagged.encode(text)
    assert encoded.spans[:1] == (((0, 0),) if ids else ())
    assert tagged.decode(tagged.encode(text)) == normalize(text)
    assert tagged.tagged("").encode(text) == ids


def test_tags_stay_when_texts_are_cut_anew(with_tags: Tokenizer, lines: list[str]):
    tagged = with_tags.tagged(">>de<<")
    texts = tagged.encode_many(lines)
    sampled = with_tags.resample(texts, 0.5, seed=1)
    assert [ids[:1] for ids in sampled] == [list(tagged.tag)] * len(lines)
    assert [with_tags.decode(ids) for ids in sampled] == [normalize(line) for line in lines]
    assert (sampled == texts) == (with_tags.kind == "char")


def test_a_tag_that_is_unknown_is_named(with_tags: Tokenizer, tokenizer: Tokenizer):
    with pytest.raises(ModelError, match=r"must have a piece >>fr<<.* Its language tags are: >>de<<, >>zh<<\."):
        with_tags.tagged(">>fr<<")
    with pytest.raises(ModelError, match=r"Its language tags are: none\."):
        tokenizer.tagged(">>de<<")
