"""The search that the settings ask for, behind rules where there are any; and tokens as they are written."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import torch

from saccade.errors import ModelError
from saccade.search.beam import beam_search, top_stable
from saccade.search.constraints import need_beam
from saccade.search.diverse import diverse_search
from saccade.search.greedy import greedy_search, likeliest, write
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.required import rank_by_progress
from saccade.search.rules import apply_rules
from saccade.search.sampling import sample, sampler
from saccade.search.settings import SearchSettings

Problem = SearchProblem[Any, Any]


def search(problem: Problem, settings: SearchSettings) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first. A prefix always has room, whatever the limit."""
    _check_constraints(problem, settings)
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


def stream(problem: Problem, settings: SearchSettings) -> Generator[int, None, Hypothesis]:
    """The tokens of a problem's one sentence, without its end; the generator's value is what `search` finds."""
    _check_streams(problem, settings)
    _check_constraints(problem, settings)
    problem = apply_rules(problem.with_room_for_prefixes(), settings)
    choose = sampler(problem, settings) if settings.method == "sampling" else likeliest(problem.banned_ids)
    return _stream(write(problem, settings, choose), problem.eos)


def _check_constraints(problem: Problem, settings: SearchSettings) -> None:
    for constraints in problem.constraints:
        phrases = (constraints.prefix, *constraints.banned, *constraints.required)
        assert all(problem.eos not in phrase for phrase in phrases), "a phrase has no end"
        if constraints.required:
            need_beam(settings)


def _check_streams(problem: Problem, settings: SearchSettings) -> None:
    greedy = settings.method == "beam" and settings.beam == 1
    if not greedy and settings.method != "sampling":
        width = f'method = "{settings.method}"' if settings.method != "beam" else f"beam = {settings.beam}"
        raise ModelError(
            f"Tokens are streamed by greedy search and by sampling only, not with {width}, which does not know the "
            'first token before the last. Use beam = 1 or method = "sampling", or do not stream.'
        )
    if settings.n_best > 1:
        raise ModelError(f"One translation is streamed at a time, so n_best must be 1, not {settings.n_best}.")
    if any(constraints.required for constraints in problem.constraints):
        raise ModelError(
            "Required phrases need a beam, which knows no token before the end, and so cannot be streamed. "
            "Do not stream, or leave them out."
        )


def _stream(writing: Generator[dict[int, int], None, list[Hypothesis]], eos: int) -> Generator[int, None, Hypothesis]:
    while True:
        try:
            token = next(writing)[0]
        except StopIteration as end:
            (hypothesis,) = end.value
            return hypothesis  # type: ignore[no-any-return]
        if token != eos:
            yield token


def _search_beam(problem: Problem, settings: SearchSettings) -> list[list[Hypothesis]]:
    ruled = apply_rules(problem, settings)
    if any(constraints.required for constraints in problem.constraints):
        return beam_search(ruled, settings, rank_by_progress(problem.constraints, settings.beam))
    return greedy_search(ruled, settings) if settings.beam == 1 else beam_search(ruled, settings)


def _search_alternatives(problem: Problem, settings: SearchSettings) -> list[list[Hypothesis]]:
    """The best hypothesis with each of the likeliest tokens after the prefix."""
    next_tokens = _likeliest_after_prefixes(apply_rules(problem, settings), settings.n_best)
    sentences = [sentence for sentence, tokens in enumerate(next_tokens) for _ in tokens]
    constraints = [
        replace(own, prefix=(*own.prefix, token))
        for own, tokens in zip(map(problem.constraints_of, range(len(problem))), next_tokens, strict=True)
        for token in tokens
    ]
    begun = replace(problem.select(sentences), constraints=constraints)
    best = iter(_search_beam(begun, replace(settings, n_best=1)))
    return [[next(best)[0] for _ in tokens] for tokens in next_tokens]


@torch.inference_mode()
def _likeliest_after_prefixes(problem: Problem, count: int) -> list[list[int]]:
    """The `count` likeliest tokens after the prefix of each sentence, which may be the end; best first."""
    prefixes = [problem.constraints_of(sentence).prefix for sentence in range(len(problem))]
    next_tokens: dict[int, list[int]] = {}
    last = torch.full_like(problem.limits, problem.bos)
    state = problem.model.start(problem.memory)
    for number in range(max(map(len, prefixes), default=-1) + 1):
        log_probs, state = problem.model.step(last, state)
        here = [sentence for sentence, prefix in enumerate(prefixes) if len(prefix) == number]
        if here:
            top, tokens = top_stable(log_probs[here].index_fill(1, problem.banned_ids, -torch.inf), count)
            for sentence, several, exist in zip(here, tokens.tolist(), top.isfinite().tolist(), strict=True):
                next_tokens[sentence] = [token for token, exists in zip(several, exist, strict=True) if exists]
        # Sentences beyond their prefix are not asked again, so it does not matter what they read.
        read = [prefix[number] if number < len(prefix) else problem.eos for prefix in prefixes]
        last = torch.tensor(read, dtype=torch.long, device=problem.device)
    return [next_tokens[sentence] for sentence in range(len(problem))]
