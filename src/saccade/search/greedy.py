"""Greedy search: take the likeliest token, again and again. The readable twin of a beam of one."""

from collections.abc import Callable, Generator

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.protocol import LogProbs, Memory, State
from saccade.search.blocks import likeliest_token
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings

Choose = Callable[[LogProbs, Int[Tensor, " rows"]], Int[Tensor, " rows"]]
"""The next token of every row, from what the model says and the sentences that the rows belong to."""


def greedy_search(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    """Return the one hypothesis of each sentence."""
    return [[hypothesis] for hypothesis in last_of(write(problem, settings, likeliest(problem.banned_ids)))]


def likeliest(banned: Int[Tensor, " banned"]) -> Choose:
    """The likeliest token that is not banned; among equals the one with the lower id."""
    return lambda log_probs, _: likeliest_token(log_probs, banned)


def write(
    problem: SearchProblem[Memory, State], settings: SearchSettings, choose: Choose
) -> Generator[dict[int, int], None, list[Hypothesis]]:
    """Write one hypothesis a sentence, a token at a time; the generator's value is all of them.

    After each step come the tokens that it chose, by sentence.
    """
    model, limits, eos = problem.model, problem.limits, problem.eos
    assert bool((limits > 0).all()), "a hypothesis has at least an end"
    written: list[list[int]] = [[] for _ in limits]
    hypotheses: dict[int, Hypothesis] = {}

    sentences = torch.arange(len(limits), device=limits.device)  # the one that each row belongs to
    last = torch.full_like(sentences, problem.bos)
    log_probs = torch.zeros(len(limits), device=limits.device)
    with torch.inference_mode():
        state = model.start(problem.memory)

    for length in range(1, max(limits.tolist(), default=0) + 1):
        if len(sentences) == 0:
            break
        with torch.inference_mode():  # but not while others have their turn
            said, state = model.step(last, state)
            last = choose(said, sentences)
            log_probs = log_probs + said.gather(1, last[:, None])[:, 0]

            chosen = dict(zip(sentences.tolist(), last.tolist(), strict=True))
            for sentence, token in chosen.items():
                written[sentence].append(token)

            ended = (last == eos) | (limits[sentences] == length)
            for row in ended.nonzero().flatten().tolist():
                sentence = int(sentences[row])
                hypotheses[sentence] = Hypothesis.of(written[sentence], float(log_probs[row]), eos, settings)

            on = (~ended).nonzero().flatten()
            if len(on) < len(ended):
                sentences, last, log_probs = sentences[on], last[on], log_probs[on]
                state = model.pick(state, on) if len(on) else state
        yield chosen

    return [hypotheses[sentence] for sentence in range(len(limits))]


def last_of(writing: Generator[dict[int, int], None, list[Hypothesis]]) -> list[Hypothesis]:
    """The generator's value."""
    while True:
        try:
            next(writing)
        except StopIteration as end:
            hypotheses: list[Hypothesis] = end.value
            return hypotheses
