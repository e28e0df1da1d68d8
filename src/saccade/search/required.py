"""Phrases that must be written: a beam whose places are shared out by how much of them a prefix has.

After Post and Vilar 2018. The likeliest prefixes know nothing of a phrase that the model would not have chosen; so in
each step every prefix is also continued towards its phrases, and those that have come furthest keep a place.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, islice, zip_longest

import torch

from saccade.protocol import LogProbs
from saccade.search.beam import Beam, Candidates, History, Rank, top_stable
from saccade.search.constraints import Constraints, Phrase, contains

Candidate = tuple[float, int, int]
"""A log-probability, the row that is continued, and the token."""


def rank_by_progress(constraints: Sequence[Constraints], width: int) -> Rank:
    """Rank candidates: first whatever has most of its phrases, then the best of what has less, and so on."""
    # The first of these comes closer by a token in every step, unless a rule forbids that. So all phrases are written
    # if there is room for them: at worst one after the other, at the very beginning.

    def rank(beam: Beam, log_probs: LogProbs, history: History) -> Candidates:
        live, length = beam.last.shape[1], len(history.tokens)
        best, tokens = (each.tolist() for each in top_stable(log_probs, 2 * width))
        ranked = []
        for place, (sentence, sums) in enumerate(zip(beam.sentences.tolist(), beam.log_probs.tolist(), strict=True)):
            phrases = constraints[sentence].required
            banks: defaultdict[int, dict[tuple[int, int], float]] = defaultdict(dict)
            for row, log_prob in enumerate(sums, start=place * live):
                prefix = history.prefix(row, length)
                likely = zip(tokens[row], best[row], strict=True)
                wanted = ((token, float(log_probs[row, token])) for token in next_tokens(prefix, phrases))
                for token, said in chain(likely, wanted):
                    if log_prob + said != -torch.inf:
                        banks[progress([*prefix, token], phrases)][row, token] = log_prob + said
            ranked.append(list(islice(_in_turn(banks), 2 * width)))
        return _candidates(ranked, 2 * width, torch.promote_types(beam.log_probs.dtype, log_probs.dtype))

    return rank


def progress(tokens: Sequence[int], phrases: Sequence[Phrase]) -> int:
    """How many tokens of the phrases are written: all of some, and the beginning of one that is not yet."""
    met = sum(len(phrase) for phrase in phrases if contains(tokens, phrase))
    return met + max((_begun(tokens, phrase) for phrase in phrases if not contains(tokens, phrase)), default=0)


def next_tokens(tokens: Sequence[int], phrases: Sequence[Phrase]) -> list[int]:
    """The token by which each phrase that is not yet written would begin or go on."""
    return [phrase[_begun(tokens, phrase)] for phrase in phrases if not contains(tokens, phrase)]


def _begun(tokens: Sequence[int], phrase: Phrase) -> int:
    """How much of the phrase, which is not there as a whole, the tokens end with."""
    lengths = range(min(len(phrase) - 1, len(tokens)), 0, -1)
    return next((length for length in lengths if tuple(tokens[-length:]) == phrase[:length]), 0)


def _in_turn(banks: dict[int, dict[tuple[int, int], float]]) -> list[Candidate]:
    """The best of each bank, the fullest bank first; then the second of each, and so on."""
    fullest_first = (banks[bank].items() for bank in sorted(banks, reverse=True))
    listed = ([(log_prob, row, token) for (row, token), log_prob in bank] for bank in fullest_first)
    sorted_banks = [sorted(bank, key=lambda candidate: -candidate[0]) for bank in listed]
    return [candidate for turn in zip_longest(*sorted_banks) for candidate in turn if candidate is not None]


def _candidates(ranked: list[list[Candidate]], count: int, dtype: torch.dtype) -> Candidates:
    nothing = (-torch.inf, 0, 0)
    filled = [[*candidates, *[nothing] * (count - len(candidates))] for candidates in ranked]
    log_probs, parents, tokens = ([[each[part] for each in row] for row in filled] for part in range(3))
    return Candidates(torch.tensor(parents), torch.tensor(tokens), torch.tensor(log_probs, dtype=dtype))
