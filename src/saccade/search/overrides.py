"""Search settings with what a call or the command line changes. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade import settings
from saccade.search.settings import SearchSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class _Adjusted:
    """What a message names: `search.beam`, as in a recipe."""

    search: SearchSettings


def adjust_search(
    own: SearchSettings, beam: int | None, n_best: int | None, overrides: Sequence[str] = (), *, origin: str
) -> SearchSettings:
    """Settings with another beam, so many translations, and overrides such as `search.length_penalty=0.8`.

    Without `n_best`, one translation unless an override asks for more. More than the beam is wide widen it. `origin`
    is who asks, for messages.
    """

    def override(search: SearchSettings, changes: Sequence[str]) -> SearchSettings:
        return settings.override(_Adjusted(search=search), changes, origin=origin).search

    width = [] if beam is None else [f"search.beam={beam}"]
    asked = override(replace(own, n_best=1), [*overrides, *width])
    several = asked.n_best if n_best is None else n_best
    if not asked.returns_any_number:
        width = [f"search.beam={max(asked.beam, several)}"]
    return override(asked, [*width, f"search.n_best={several}"])
