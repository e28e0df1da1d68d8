"""What one sentence's translation must hold to. Known without torch, so that every engine can be asked the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import ModelError
from saccade.search.settings import SearchSettings

Phrase = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraints:
    """Token ids that a translation must begin with, must not have, or must have."""

    prefix: Phrase = ()
    """It begins with these tokens, whatever else is asked for; the end of sentence is not one of them."""
    banned: tuple[Phrase, ...] = ()
    """None of these phrases is in it, but for what `prefix` has of them."""
    required: tuple[Phrase, ...] = ()
    """Each of these phrases is in it, in any order. Those that found no room are the hypothesis's `unmet`."""

    def __post_init__(self) -> None:
        for name in ("banned", "required"):
            if () in getattr(self, name):
                raise ValueError(f"{name} must be phrases of at least one token each, but one of them is empty")

    def __bool__(self) -> bool:
        return bool(self.prefix or self.banned or self.required)

    def unmet(self, ids: Sequence[int]) -> tuple[Phrase, ...]:
        """The required phrases that are not among these tokens."""
        return tuple(phrase for phrase in self.required if not contains(ids, phrase))


FREE = Constraints()
"""A translation may be anything."""


def need_beam(settings: SearchSettings) -> None:
    """Refuse a search that cannot be asked for required phrases."""
    if settings.method not in ("beam", "alternatives"):
        raise ModelError(
            f'Required phrases and glossaries need method = "beam" or "alternatives", not "{settings.method}", which '
            'keeps no place for them. Leave them out, or use method = "beam".'
        )


def contains(ids: Sequence[int], phrase: Phrase) -> bool:
    """Whether these tokens stand there one after the other."""
    ids = tuple(ids)
    return any(ids[start : start + len(phrase)] == phrase for start in range(len(ids) - len(phrase) + 1))
