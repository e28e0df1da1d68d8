"""What a search returns, and how hypotheses of different lengths are made comparable."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.search.constraints import Phrase
from saccade.search.settings import SearchSettings


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One way to translate a sentence."""

    ids: tuple[int, ...]
    """The tokens, without the end of sentence."""
    log_prob: float
    """The model's own log-probability of the tokens, the end of sentence included, whatever the search had to avoid."""
    score: float
    """What ranks: the log-probability made comparable between lengths."""
    finished: bool
    """It ended by itself; otherwise it was cut off at its limit."""
    unmet: tuple[Phrase, ...] = ()
    """The required phrases that it does not have."""

    @classmethod
    def of(
        cls, tokens: Sequence[int], log_prob: float, eos: int, settings: SearchSettings, unmet: tuple[Phrase, ...] = ()
    ) -> "Hypothesis":
        """Of all tokens that a search wrote, with the end of sentence if it came to that."""
        finished = tokens[-1] == eos
        ids = tuple(tokens[:-1] if finished else tokens)
        return cls(ids, log_prob, score(log_prob, len(tokens), settings), finished, unmet)


def score(log_prob: float, length: int, settings: SearchSettings) -> float:
    """Rank a hypothesis of so many tokens, the end of sentence included."""
    # `gnmt` is equation 14 of Wu et al. 2016. `length` is CTranslate2's.
    length_or_so = (5 + length) / 6 if settings.penalty == "gnmt" else length
    return log_prob / math.pow(length_or_so, settings.length_penalty)
