"""Glossary files, read as translators write them."""

from pathlib import Path

import pytest

from saccade.text.formats.glossary import read_glossary


def test_a_phrase_and_its_translation_in_each_line(tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\n\n ice cream \t Eis \r\n#1\tNr. 1\ndog\tHund\n", "utf-8")
    assert read_glossary(tmp_path / "terms.tsv") == {"dog": "Hund", "ice cream": "Eis", "#1": "Nr. 1"}


@pytest.mark.parametrize("header", ["source\ttarget", "Source term\tTarget Term", "\nterm\ttranslation"])
def test_a_header_is_no_term(header: str, tmp_path: Path):
    (tmp_path / "terms.tsv").write_text(f"{header}\ndog\tHund\nsource\ttarget\n", "utf-8")
    assert read_glossary(tmp_path / "terms.tsv") == {"dog": "Hund", "source": "target"}, "unless it comes later"


def test_an_empty_glossary(tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("")
    assert read_glossary(tmp_path / "terms.tsv") == {}
