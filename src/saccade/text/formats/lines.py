"""Two files side by side: line n of one translates line n of the other."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from saccade.errors import DataError
from saccade.text.formats.opening import open_text


def read_pairs(source: Path, target: Path, *, key: str = "") -> Iterator[tuple[str, str]]:
    """Pairs of lines as they stand; `key` is the setting that names the corpus, for messages."""
    sources = open_text(source, key=key and f"{key}.source")
    targets = open_text(target, key=key and f"{key}.target")
    for number, (left, right) in enumerate(zip_longest(sources, targets)):
        if left is None or right is None:
            rest = 1 + sum(1 for _ in (targets if left is None else sources))
            counts = (number, number + rest) if left is None else (number + rest, number)
            raise DataError(
                f"{source} has {counts[0]} lines but {target} has {counts[1]}. Line n of one must translate "
                "line n of the other; find the line that is missing or was split in two."
            )
        yield left, right
