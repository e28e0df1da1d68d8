"""The search that the settings ask for, behind rules where there are any."""

from dataclasses import replace

from saccade.errors import ModelError
from saccade.protocol import Memory, State
from saccade.search.alternatives import likeliest_after_prefixes
from saccade.search.beam import beam_search
from saccade.search.diverse import diverse_search
from saccade.search.greedy import greedy_search
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.required import rank_by_progress
from saccade.search.rules import apply_rules
from saccade.search.sampling import sample
from saccade.search.settings import SearchSettings


def search(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first. A prefix always has room, whatever the limit."""
    check_constraints(problem, settings)
    problem = problem.with_room_for_prefixes()
    match settings.method:
        case "beam":
            return _search_beam(problem, settings)
        case "diverse":
            return diverse_search(apply_rules(problem, settings), settings)
        case "sampling":
            return sample(apply_rules(problem, settings), settings)
        case "alternatives":
            return _search_alternatives(problem, settings)


def check_constraints(problem: SearchProblem[Memory, State], settings: SearchSettings) -> None:
    """Refuse constraints that this search cannot satisfy."""
    for constraints in problem.constraints:
        phrases = (constraints.prefix, *constraints.banned, *constraints.required)
        assert all(problem.eos not in phrase for phrase in phrases), "a phrase has no end"
        if constraints.required and settings.method not in ("beam", "alternatives"):
            raise ModelError(
                f'Required phrases need method = "beam" or "alternatives", not "{settings.method}", which keeps no '
                'place for prefixes that have them. Use method = "beam".'
            )


def _search_beam(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    ruled = apply_rules(problem, settings)
    if any(constraints.required for constraints in problem.constraints):
        return beam_search(ruled, settings, rank_by_progress(problem.constraints, settings.beam))
    return greedy_search(ruled, settings) if settings.beam == 1 else beam_search(ruled, settings)


def _search_alternatives(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    """The best hypothesis with each of the likeliest tokens after the prefix."""
    next_tokens = likeliest_after_prefixes(apply_rules(problem, settings), settings.n_best)
    begun = [
        (sentence, replace(constraints, prefix=(*constraints.prefix, token)))
        for sentence, tokens in enumerate(next_tokens)
        for constraints in [problem.constraints_of(sentence)]
        for token in tokens
    ]
    completed = replace(
        problem.select([sentence for sentence, _ in begun]), constraints=[constraints for _, constraints in begun]
    )
    best = iter(_search_beam(completed, replace(settings, n_best=1)))
    return [[next(best)[0] for _ in tokens] for tokens in next_tokens]
