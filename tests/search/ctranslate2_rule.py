"""CTranslate2's beam search for one sentence in plain Python: lists, no tensors, one rule after the other."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Prefix = tuple[int, ...]


class Ended(NamedTuple):
    ids: Prefix
    log_prob: float
    score: float


def beam_search(
    log_probs_after: Callable[[Prefix], Sequence[float]],
    *,
    beam: int,
    n_best: int,
    limit: int,
    eos: int,
    penalised: Callable[[float, int], float],
    exits_early: bool,
) -> list[Ended]:
    slots: list[tuple[float, Prefix]] = [(0.0, ())]
    ended: list[Ended] = []
    top_has_ended = False
    for length in range(1, limit + 1):
        candidates = [
            (log_prob + following, (*prefix, token))
            for log_prob, prefix in slots
            for token, following in enumerate(log_probs_after(prefix))
            if following > -math.inf
        ]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * beam]
        spare = [candidate for candidate in candidates[beam:] if candidate[1][-1] != eos]
        slots = []
        for place, (log_prob, prefix) in enumerate(candidates[:beam]):
            if prefix[-1] == eos or length == limit:
                top_has_ended |= place == 0
                ids = prefix[:-1] if prefix[-1] == eos else prefix
                ended.append(Ended(ids, log_prob, penalised(log_prob, length)))
                slots += spare[:1]
                spare = spare[1:]
            else:
                slots.append((log_prob, prefix))
        enough = top_has_ended and len(ended) >= n_best if exits_early else len(ended) >= beam
        if enough or not slots:
            break
    return sorted(ended, key=lambda hypothesis: -hypothesis.score)[:n_best]
