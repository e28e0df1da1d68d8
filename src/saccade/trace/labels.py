"""Tokens as they are shown: on one line, of known width, and harmless to a terminal or an XML file."""

import unicodedata

from rich.cells import cell_len

MARK = "·"
"""Shown for the mark (U+2581) that SentencePiece puts where a word begins."""


def label(token: str, cells: int, ellipsis: str = "…") -> str:
    """The token in at most so many columns of a terminal."""
    shown = "".join("\ufffd" if _unprintable(character) else character for character in token)
    shown = shown.replace("▁", MARK)
    if cell_len(shown) <= cells:
        return shown
    while shown and cell_len(shown) > cells - cell_len(ellipsis):
        shown = shown[:-1]
    return shown + ellipsis


def _unprintable(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or character in "\ufffe\uffff"


def characters(text: str) -> list[str]:
    """The characters, each with the marks that are written over or under it."""
    found: list[str] = []
    for character in text:
        if found and cell_len(character) == 0:
            found[-1] += character
        else:
            found.append(character)
    return found
