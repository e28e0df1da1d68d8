"""One file with a pair in each line: source, tab, target; further columns are ignored, quotes are literal."""

from collections.abc import Iterator
from pathlib import Path

from saccade.errors import DataError
from saccade.text.formats.opening import open_text


def read_pairs(path: Path, *, key: str = "") -> Iterator[tuple[str, str]]:
    """The first two columns as they stand; `key` is the setting that names the corpus, for messages."""
    for number, line in enumerate(open_text(path, key=key and f"{key}.file"), start=1):
        source, tab, rest = line.partition("\t")
        if line and not tab:
            raise DataError(
                f"Every line of {path} must hold a source, a tab and a target, but line {number} has no tab. "
                "Put the tab in, or give two files of lines as `source` and `target` instead of `file`."
            )
        yield source, rest.partition("\t")[0]
