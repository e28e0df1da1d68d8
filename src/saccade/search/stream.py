"""Tokens as they are written, for a reader who does not want to wait for the end of a sentence."""

from collections.abc import Generator, Sequence

from jaxtyping import Int
from torch import Tensor

from saccade.errors import ModelError
from saccade.protocol import Decodes, Memory, State
from saccade.search.constraints import FREE, Constraints
from saccade.search.greedy import likeliest, write
from saccade.search.hypothesis import Hypothesis
from saccade.search.rules import ruled
from saccade.search.sampling import by_chance
from saccade.search.search import check, with_room
from saccade.search.settings import SearchSettings


def stream(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " one"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    banned: Sequence[int] = (),
    constraints: Constraints = FREE,
    name: str = "0",
) -> Generator[int, None, Hypothesis]:
    """The tokens of the one sentence of a memory, without its end; the generator's value is what `search` finds."""
    check_streams(settings, constraints)
    check(settings, [constraints], eos)
    limits = with_room(limits, [constraints])
    device = limits.device
    chance = settings.method == "sampling"
    choose = by_chance(settings, [name], banned, device) if chance else likeliest(banned, device)
    kept = ruled(model, settings, [constraints], banned, eos, device)
    return _tokens(write(kept, memory, limits=limits, bos=bos, eos=eos, settings=settings, choose=choose), eos)


def check_streams(settings: SearchSettings, constraints: Constraints) -> None:
    """Refuse to stream what is not known before its end."""
    greedy = settings.method == "beam" and settings.beam == 1
    if not greedy and settings.method != "sampling":
        width = f'method = "{settings.method}"' if settings.method != "beam" else f"beam = {settings.beam}"
        raise ModelError(
            f"Tokens are streamed by greedy search and by sampling only, not with {width}, which does not know the "
            "first token of a translation before it knows the last. "
            'Use beam = 1 or method = "sampling", or do not stream.'
        )
    if settings.n_best > 1:
        raise ModelError(f"One translation is streamed at a time, so n_best must be 1, not {settings.n_best}.")
    if constraints.required:
        raise ModelError(
            "Required phrases need a beam, which knows no token before the end, and so cannot be streamed. "
            "Do not stream, or leave them out."
        )


def _tokens(writing: Generator[dict[int, int], None, list[Hypothesis]], eos: int) -> Generator[int, None, Hypothesis]:
    while True:
        try:
            token = next(writing)[0]
        except StopIteration as end:
            (hypothesis,) = end.value
            return hypothesis  # type: ignore[no-any-return]
        if token != eos:
            yield token
