"""Glossary files, read as translators write them."""

from pathlib import Path

from saccade.text.formats.glossary import read_glossary


def test_a_phrase_and_its_translation_in_each_line(tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("dog\tHund\n\n ice cream \t Eis \r\n#1\tNr. 1\ndog\tHund\n", "utf-8")
    assert read_glossary(tmp_path / "terms.tsv") == {"dog": "Hund", "ice cream": "Eis", "#1": "Nr. 1"}


def test_an_empty_glossary(tmp_path: Path):
    (tmp_path / "terms.tsv").write_text("")
    assert read_glossary(tmp_path / "terms.tsv") == {}
