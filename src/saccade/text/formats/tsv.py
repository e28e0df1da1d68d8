"""One file with a pair in each line: source, tab, target; quotes are literal."""

from collections.abc import Iterator
from pathlib import Path

from saccade.errors import DataError
from saccade.text.formats.opening import open_text


def read_pairs(path: Path, *, key: str = "") -> Iterator[tuple[str, str]]:
    """The two columns as they stand; `key` is the setting that names the corpus, for messages."""
    for number, line in enumerate(open_text(path, key=key and f"{key}.file"), start=1):
        source, *others = line.split("\t")
        if len(others) != 1 and line:
            came = f"{len(others) + 1} columns" if others else "no tab"
            raise DataError(
                f"Every line of {path} must hold a source, a tab and a target, but line {number} has {came}. "
                "Choose the two columns, for example with `cut -f1,2`, or give two files of lines as `source` and "
                "`target` instead of `file`."
            )
        yield source, others[0] if others else ""
