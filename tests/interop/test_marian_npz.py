"""Marian's own files in saccade: the same logits and translations as of the same parameters elsewhere."""

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import yaml
from ctranslate2.converters import OpusMTConverter
from hypothesis import given
from hypothesis import strategies as st
from tests.interop import opus
from tests.interop.test_marian import assert_same_logits

from saccade.directory import ModelDirectory
from saccade.interop import marian_npz
from saccade.interop.marian import import_model
from saccade.search.settings import SearchSettings
from saccade.translator import load


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A model of `transformers`, and the same with Marian's own files."""
    path = tmp_path_factory.mktemp("original") / "opus-2020-02-26"
    return opus.write_original(path, codes=opus.SEVERAL, seed=2), path


def test_logits_are_those_of_the_other_layout(original: tuple[Any, Path], tmp_path: Path) -> None:
    model, path = original
    import_model(path, tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, path.with_name(f"{path.name}-hf"))


@pytest.mark.parametrize(
    "config",
    [
        {"activation_function": "relu", "decoder_layers": 1},
        {"separate": True},
        {"separate": True, "tie_word_embeddings": False},
    ],
    ids=str,
)
def test_models_of_every_make(tmp_path: Path, config: dict[str, Any]) -> None:
    model = opus.write_original(tmp_path / "theirs", **config)
    import_model(tmp_path / "theirs", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs-hf")


def test_an_output_table_that_is_stored_by_rows(tmp_path: Path) -> None:
    model = opus.write_original(tmp_path / "theirs", separate=True, tie_word_embeddings=False)
    opus.rewrite_original(
        tmp_path / "theirs", lambda arrays: _renamed(arrays, "decoder_ff_logit_out_W", "decoder_ff_logit_out_Wt")
    )
    import_model(tmp_path / "theirs", tmp_path / "ours")
    assert_same_logits(tmp_path / "ours", model, tmp_path / "theirs-hf")


def _renamed(arrays: dict[str, np.ndarray], old: str, new: str) -> dict[str, np.ndarray]:
    return {new if name == old else name: array.T if name == old else array for name, array in arrays.items()}


def test_translations_are_those_of_another_reader(original: tuple[Any, Path], tmp_path: Path) -> None:
    """CTranslate2 reads Marian's files by a converter of its own, which knows nothing of ours."""
    _, path = original
    import_model(path, tmp_path / "ours")
    OpusMTConverter(str(path)).convert(str(tmp_path / "ct2"))
    translator, source = load(tmp_path / "ours"), ModelDirectory.open(tmp_path / "ours").tokenizers.source
    target = ModelDirectory.open(tmp_path / "ours").tokenizers.target
    texts = [f"{code} {text}" for code in opus.SEVERAL for text in opus.ENGLISH]
    pieces = [[source.piece(id) for id in source.encode(text)] for text in texts]
    limits = {"length_penalty": 0, "max_decoding_length": 30}
    there = ctranslate2.Translator(str(tmp_path / "ct2")).translate_batch(pieces, beam_size=5, **limits)
    ids = {target.piece(id): id for id in range(len(target))}
    expected = [target.decode(ids[piece] for piece in result.hypotheses[0]) for result in there]
    search = SearchSettings(beam=5, length_penalty=0.0, max_length_factor=0.0, max_length_extra=30)
    found = [translator.translate(opus.ENGLISH, to=code.strip("<>"), search=search) for code in opus.SEVERAL]
    assert [each.text for translations in found for each in translations] == expected
    assert len(set(expected)) > 3, "a model that always says the same would show little"


def test_what_is_said_of_it(original: tuple[Any, Path], tmp_path: Path, saccade: Any) -> None:
    assert saccade("import", "--from", "marian", original[1], tmp_path / "ours").code == 0
    description = ModelDirectory.open(tmp_path / "ours").description
    assert (description.search.beam, description.search.length_penalty, description.max_tokens) == (6, 1.0, 511)
    card = (tmp_path / "ours" / "card.md").read_text("utf-8")
    assert "Imported from opus-2020-02-26, a Marian model with Marian's own files." in card
    assert card.endswith("\n# opus-2020-02-26.zip\n")


# Vocabularies

ENDS = "\n\r\x85\u2028\u2029"
PIECES = {
    style: st.text(st.characters(exclude_categories=["Cs"], exclude_characters=ends), min_size=1, max_size=8)
    for style, ends in ((None, ENDS), ("'", ENDS), ('"', ""))
}
VOCABULARIES = st.sampled_from([*PIECES]).flatmap(
    lambda style: st.tuples(st.dictionaries(PIECES[style], st.integers(0, 10**6), max_size=8), st.just(style))
)


@given(VOCABULARIES)
def test_a_vocabulary_is_what_yaml_says(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    """Pieces as PyYAML writes them: bare where they may be, or in quotes, with escapes."""
    ids, style = drawn
    scalars = {piece: yaml.dump(piece, default_style=style, allow_unicode=True, width=10**6) for piece in ids}
    lines = [
        f"{scalar.removesuffix(chr(10)).removesuffix(chr(10) + '...')}: {ids[piece]}\n"
        for piece, scalar in scalars.items()
    ]
    path = tmp_path_factory.getbasetemp() / "vocabulary.yml"
    path.write_text("".join(lines), "utf-8", newline="")
    assert marian_npz._vocabulary(path) == ids


def test_a_piece_that_ends_lines_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "v.yml").write_bytes('</s>: 0\n? "\\x85"\n: 1\n\u2028: 2\r\n":": 3\n▁a:b: 4\n'.encode())
    expected = {"</s>": 0, "\x85": 1, "\u2028": 2, ":": 3, "▁a:b": 4}
    assert marian_npz._vocabulary(tmp_path / "v.yml") == expected
