"""A glossary: a phrase of the source, a tab and its translation in each line; blank lines are passed over."""

from pathlib import Path

from saccade.errors import DataError
from saccade.text.formats.opening import open_text


def read_glossary(path: Path) -> dict[str, str]:
    """Translations by their source phrase; a line that cannot be meant is refused by its number."""
    found: dict[str, str] = {}
    for number, line in enumerate(open_text(path), start=1):
        if not line.strip():
            continue
        source, *targets = (cell.strip() for cell in line.split("\t"))
        if len(targets) != 1 or not (source and targets[0]):
            raise DataError(
                f"Every line of {path} must hold a source phrase, a tab and its translation, but line {number} does "
                "not. Put the tab between them, and one translation only."
            )
        if found.setdefault(source, targets[0]) != targets[0]:
            raise DataError(
                f"Every phrase of {path} must have one translation, but line {number} has another one of {source!r} "
                "than a line before it. Leave one of them out."
            )
    return found
