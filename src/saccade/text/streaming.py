"""A text while its tokens are being written: shown piece by piece, and never taken back."""

import re
from collections.abc import Iterable, Iterator, Sequence

from saccade.text.tokenizer import Tokenizer

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def text_pieces(tokenizer: Tokenizer, ids: Iterable[int]) -> Iterator[str]:
    """The text as its tokens come; a character that is spelled in bytes is held back until it is whole."""
    written: list[int] = []
    shown = ""
    for id in ids:
        written.append(id)
        if _is_whole(tokenizer, written):
            text = tokenizer.decode(written)
            if len(text) > len(shown):
                yield text[len(shown) :]
                shown = text
    if rest := tokenizer.decode(written)[len(shown) :]:
        yield rest


def _is_whole(tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Whether the bytes at the end, if any, are whole characters."""
    spelled: list[int] = []
    for id in reversed(ids):
        if not (byte := _BYTE.fullmatch(tokenizer.piece(id))):
            break
        spelled.append(int(byte[1], 16))
    try:
        bytes(reversed(spelled)).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
