"""Alternatives at a position: the likeliest tokens after a given prefix, so that each can be completed."""

import torch

from saccade.protocol import Memory, State
from saccade.search.beam import top_stable
from saccade.search.problem import SearchProblem


@torch.inference_mode()
def likeliest_after_prefixes(problem: SearchProblem[Memory, State], count: int) -> list[list[int]]:
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
