"""Tokens as they are written, for a reader who does not want to wait for the end of a sentence."""

from collections.abc import Generator

from saccade.errors import ModelError
from saccade.protocol import Memory, State
from saccade.search.greedy import likeliest, write
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.rules import apply_rules
from saccade.search.sampling import sampler
from saccade.search.search import check_constraints
from saccade.search.settings import SearchSettings


def stream(problem: SearchProblem[Memory, State], settings: SearchSettings) -> Generator[int, None, Hypothesis]:
    """The tokens of a problem's one sentence, without its end; the generator's value is what `search` finds."""
    check_streams(problem, settings)
    check_constraints(problem, settings)
    problem = apply_rules(problem.with_room_for_prefixes(), settings)
    choose = sampler(problem, settings) if settings.method == "sampling" else likeliest(problem.banned_ids)
    return _tokens(write(problem, settings, choose), problem.eos)


def check_streams(problem: SearchProblem[Memory, State], settings: SearchSettings) -> None:
    """Refuse a search that knows no token before its end."""
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
    if any(constraints.required for constraints in problem.constraints):
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
