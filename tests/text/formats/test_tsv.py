from pathlib import Path

from saccade.text.formats.tsv import read_pairs


def test_the_first_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('one\teins\n"two"\t"zwei"\tCC-BY\tx\n\n\tleer\n', encoding="utf-8")
    assert list(read_pairs(path)) == [("one", "eins"), ('"two"', '"zwei"'), ("", ""), ("", "leer")]
