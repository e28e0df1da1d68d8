"""How wide a text is drawn (in Noto Sans, a font of medium width), and in which fonts."""

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator
from importlib.resources import files

from saccade.trace.labels import EMOJI_STYLE, FLAG_LETTERS, characters

CJK = ("han", "hangul", "kana")
"""Written together in one font; among those of a text, the last decides which."""
EMOJI, WIDE, SPACING_MARK, TAIL, OTHER = 1250, 1000, 270, 500, 600

_TABLES = tomllib.loads((files("saccade") / "trace" / "fonts.toml").read_text(encoding="utf-8"))
_WIDTHS = {character: int(width) for width, group in _TABLES["widths"].items() for character in group}
_BY_SCRIPT: dict[str, int] = _TABLES["scripts"]
_FONTS: dict[str, list[str]] = _TABLES["fonts"]
_ARABIC_TAIL = re.compile(r"[\u0628\u062a\u062b\u0633-\u0636\u0641\u0643](?![\u0620-\u065f])")
"""Letters that spread out where a word ends."""


def text_width(text: str, size: float) -> float:
    """In the unit of the size, which is the font's."""
    ends = len(_ARABIC_TAIL.findall(text))
    widths = (EMOJI if _is_emoji(character) else sum(map(_width_of_part, character)) for character in characters(text))
    return (sum(widths) + TAIL * ends) * size / 1000


def fit(text: str, size: float, room: float) -> str:
    """The text, cut with an ellipsis if it is wider than the room there is."""
    if text_width(text, size) <= room:
        return text
    kept = characters(text)
    while kept and text_width("".join(kept) + "…", size) > room:
        kept.pop()
    return "".join(kept) + "…"


def script(character: str) -> str | None:
    """What decides the font of a character: "" for Latin, Greek and Cyrillic, None for what all fonts should have."""
    if _is_emoji(character):
        return "emoji"
    first = character[0]
    name, category = unicodedata.name(first, "").split(" ")[0], unicodedata.category(first)
    if name in ("HIRAGANA", "KATAKANA", "HANGUL"):
        return "hangul" if name == "HANGUL" else "kana"
    if _is_wide(first):
        return "han"
    if category in ("Sm", "So") and first > "\xff":
        return "symbol"
    if category[0] not in "LM" or not name.isalpha():
        return None
    return "" if name in ("LATIN", "GREEK", "CYRILLIC", "COMBINING", "MODIFIER") else name.lower()


def runs(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces of one script each, which stands before its piece; what has none goes with its neighbour."""
    piece, current = "", None
    for character in characters(text):
        found = script(character)
        if found is None and current in ("emoji", "symbol"):
            found = ""  # the fonts of pictures lack points and blanks
        if found in CJK and current in CJK:
            found = max(found, current, key=CJK.index)
        elif found is not None and current not in (None, found):
            yield current or "", piece
            piece = ""
        elif found in ("emoji", "symbol") and current is None and piece:
            yield "", piece
            piece = ""
        piece, current = piece + character, current if found is None else found
    yield current or "", piece


def families(script: str, scripts: Collection[str] = ()) -> str:
    """The fonts of a script for a style sheet; Chinese characters are Japanese ones where kana are about."""
    about = next((other for other in ("kana", "hangul") if other in scripts), script) if script == "han" else script
    first = _FONTS.get(about, [f"Noto Sans {script.title()}"] if script else [])
    return ", ".join(f'"{name}"' if " " in name else name for name in (*first, *_FONTS["sans"]))


def _width_of_part(part: str) -> int:
    category = unicodedata.category(part)
    if category in ("Mn", "Me", "Cf", "Cc"):
        return 0
    if _is_wide(part):
        return WIDE
    if found := _WIDTHS.get(unicodedata.normalize("NFD", part)[0]):
        return found
    return SPACING_MARK if category == "Mc" else _BY_SCRIPT.get(script(part) or "", OTHER)


def _is_wide(part: str) -> bool:
    return unicodedata.east_asian_width(part) in "WF" and unicodedata.category(part) != "Cn"  # not yet a character


def _is_emoji(character: str) -> bool:
    first = ord(character[0])
    if first in FLAG_LETTERS or EMOJI_STYLE in character:
        return True
    wide = unicodedata.east_asian_width(character[0]) == "W" and unicodedata.category(character[0]) in ("So", "Sk")
    return wide and (first >= 0x1F000 or first < 0x2E80)
