from pathlib import Path

from saccade.text.formats.lines import read_pairs


def test_line_n_beside_line_n(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("one\n\nthree\u2028still three\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("eins\r\nzwei\r\ndrei\r\n", encoding="utf-8", newline="")
    pairs = list(read_pairs(tmp_path / "a.en", tmp_path / "a.de"))
    assert pairs == [("one", "eins"), ("", "zwei"), ("three\u2028still three", "drei")]
