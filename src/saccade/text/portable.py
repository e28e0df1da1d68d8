"""`normalize` as SentencePiece itself can apply it: for programs that read our tokenizers and have no saccade."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, permutations

import sentencepiece

from saccade.text.normalize import normalize

# A null character cannot be a rule, half of a surrogate pair is no character, and nothing later is ever changed.
_CHARACTERS = (range(1, 0xD800), range(0xE000, 0x30000))

sentencepiece.set_min_log_level(3)


def portable(model: bytes) -> bytes:
    """A model of ours with `normalize` in it; tokens differ only for accents in unusual order without composed form."""
    # Two messages of protocol buffers, one behind the other, are their union: here, a model and a normaliser.
    return model + _normalizer()


@cache
def _normalizer() -> bytes:
    rules = dict(chain(_replaced(), _composed()))
    normalizer = sentencepiece.SentencePieceNormalizer(
        norm_map=sorted(rules.items()), add_dummy_prefix=True, escape_whitespaces=True, remove_extra_whitespaces=True
    )
    written: bytes = normalizer.serialized_model_proto()
    return written


def _replaced() -> Iterator[tuple[str, str]]:
    """Characters that `normalize` changes by themselves: spaces, control characters, what is invisible."""
    for character in map(chr, chain(*_CHARACTERS)):
        # A full stop on either side keeps spaces from being stripped, and takes no accent.
        if unicodedata.category(character)[0] in "CZ" or unicodedata.normalize("NFC", character) != character:
            normal = normalize(f".{character}.")[1:-1]
            if normal != character:
                yield character, normal
    yield "▁", normalize("▁")


def _composed() -> Iterator[tuple[str, str]]:
    """Letters with accents, and Hangul, that stand apart or half composed, in any order of the accents."""
    for character in map(chr, chain(*_CHARACTERS)):
        apart = unicodedata.normalize("NFD", character)
        if len(apart) == 1 or unicodedata.normalize("NFC", character) != character:
            continue
        for parts in permutations(apart[1:]) if unicodedata.combining(apart[1]) else [tuple(apart[1:])]:
            for number in range(len(parts)):
                begun = unicodedata.normalize("NFC", apart[0] + "".join(parts[:number]))
                written = begun + "".join(parts[number:])
                if unicodedata.normalize("NFC", written) == character:
                    yield written, character
