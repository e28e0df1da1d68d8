"""One line of text in the one form that everything else sees; the number of lines never changes."""

import re
import unicodedata

# Zero-width space, word joiner, byte order mark, soft hyphen. The zero-width (non-)joiners stay: Persian and
# Indic spelling and emoji need them. So do the direction marks: they change how a text is read.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# Half of a surrogate pair is no character and has no UTF-8 form.
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalize(text: str) -> str:
    """NFC; control characters and every kind of space become one plain space; the ends are stripped.

    `▁` (U+2581), with which SentencePiece marks a space, becomes `_`, which it resembles: inside a piece the
    two meanings could not be told apart. Idempotent.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())  # the rest would change nothing
    # Removal comes before NFC, which would otherwise miss letters and accents that stood apart.
    text = _CONTROL.sub(" ", _INVISIBLE.sub("", text)).replace("▁", "_")
    text = unicodedata.normalize("NFC", encodable(text))
    return " ".join(text.split())


def encodable(text: str) -> str:
    """The text with U+FFFD for what is no character, and nothing else changed."""
    return _SURROGATE.sub("\ufffd", text)
