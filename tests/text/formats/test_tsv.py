from pathlib import Path

import pytest

from saccade.errors import DataError
from saccade.text.formats.tsv import read_pairs


def test_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text('a b\tc "d\n\n e \t f\n', "utf-8")
    assert list(read_pairs(path)) == [("a b", 'c "d'), ("", ""), (" e ", " f")]


@pytest.mark.parametrize(("line", "came"), [("a\tmore\tb", "3 columns"), ("a", "no tab")])
def test_other_numbers_of_columns_are_refused(line: str, came: str, tmp_path: Path) -> None:
    """The middle of three columns was once learned as the translation."""
    path = tmp_path / "pairs.tsv"
    path.write_text(f"a\tb\n{line}\n", "utf-8")
    with pytest.raises(DataError, match=f"line 2 has {came}"):
        list(read_pairs(path))
