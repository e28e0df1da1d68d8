"""A glossary: a phrase of the source, a tab and its translation in each line; blank lines are skipped."""

from pathlib import Path

from saccade.errors import DataError
from saccade.text.formats.opening import open_text

HEADERS = (
    {"source", "source term", "source phrase", "source text", "src", "term"},
    {"target", "target term", "target phrase", "target text", "tgt", "trg", "translation"},
)


def read_glossary(path: Path) -> dict[str, str]:
    """Translations by their source phrase. A first line such as "source, target" is skipped as a header."""
    glossary: dict[str, str] = {}
    header = True
    for number, line in enumerate(open_text(path), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            columns = "an empty column" if len(cells) == 2 else f"{len(cells)} column{'s' * (len(cells) > 1)}"
            raise DataError(
                f"Every line of {path} must have two columns, a source phrase, a tab and its translation, but line "
                f"{number} has {columns}. Put one tab between the two."
            )
        is_first, header = header, False
        if is_first and all(cell.casefold() in known for cell, known in zip(cells, HEADERS, strict=True)):
            continue
        source, target = cells
        if glossary.setdefault(source, target) != target:
            raise DataError(
                f"Every phrase of {path} must have one translation, but line {number} has another one of {source!r} "
                "than a line before it. Leave one of them out."
            )
    return glossary
