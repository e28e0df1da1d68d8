"""Tokens as they are shown: on one line, of known width, and harmless to a terminal or an XML file."""

import unicodedata

from rich.cells import cell_len

MARK = "·"
"""Shown for the mark (U+2581) that SentencePiece puts where a word begins."""
JOINER, EMOJI_STYLE = "\u200d", "\ufe0f"
LEFT_TO_RIGHT = "\u200e"
SKIN_TONES = range(0x1F3FB, 0x1F400)
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Turn the text around them, also beyond their token."""


def label(token: str, cells: int, ellipsis: str = "…") -> str:
    """The token in at most so many columns of a terminal; one that nobody could see is named by its numbers."""
    shown = "".join("\ufffd" if _unprintable(character) else character for character in token)
    shown = shown.replace("▁", MARK)
    if shown and all(unicodedata.category(character) in ("Cf", "Zs", "Mn", "Me") for character in shown):
        shown = " ".join(f"U+{ord(character):04X}" for character in shown)
    if cell_len(shown) <= cells:
        return shown
    kept = characters(shown)
    while kept and cell_len("".join(kept)) > cells - cell_len(ellipsis):
        kept.pop()
    return "".join(kept) + ellipsis


def characters(text: str) -> list[str]:
    """The characters as a reader counts them: with the marks over and under them, and joined emoji as one."""
    found: list[str] = []
    for character in text:
        if found and _belongs_to(found[-1], character):
            found[-1] += character
        else:
            found.append(character)
    return found


def for_terminal(token: str) -> str:
    """The token with nothing in it that terminals disagree about: of joined emoji the first, of flags the letters."""
    return "".join(map(_simple, characters(token)))


def goes_left(text: str) -> bool:
    """Whether it is written from right to left, as its first letter that has a direction is."""
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


def _simple(character: str) -> str:
    first = ord(character[0])
    if first in FLAG_LETTERS:
        return "".join(chr(ord(letter) - FLAG_LETTERS.start + ord("A")) for letter in character)
    joined = JOINER in character or EMOJI_STYLE in character or any(ord(part) in SKIN_TONES for part in character[1:])
    kept = character[0] if joined else character
    return "".join(part for part in kept if unicodedata.category(part) != "Cf" or part in "\u200c" + BIDI_CONTROLS)


def _belongs_to(before: str, character: str) -> bool:
    if ord(character) in FLAG_LETTERS:
        return len(before) == 1 and ord(before) in FLAG_LETTERS
    joined = before.endswith(JOINER) and unicodedata.category(character) == "So"
    takes_no_room = unicodedata.category(character) in ("Mn", "Me", "Cf") or cell_len(character) == 0
    return joined or takes_no_room or ord(character) in SKIN_TONES


def _unprintable(character: str) -> bool:
    """What XML forbids, what ends a line, and what would turn text around."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\ufffe\uffff" + BIDI_CONTROLS
