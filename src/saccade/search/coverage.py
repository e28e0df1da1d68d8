"""The coverage penalty (Wu et al. 2016, equation 14): what was hardly attended to was probably not translated."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings

LEAST = 1e-6  # of a token that sparse attention never looked at: the logarithm of nothing would rank nothing


def coverage(weights: NDArray[Any]) -> float:
    """0 if every source token was attended to as much as a target token looks around, 1 in sum; below 0 otherwise.

    `weights` has a row for every target token and a column for every source token, their ends included.
    """
    attended = weights.astype(np.float64).sum(axis=0)
    return float(np.log(attended.clip(LEAST, 1.0)).sum())


def by_coverage(
    hypotheses: Sequence[Hypothesis], weights: Sequence[NDArray[Any]], settings: SearchSettings
) -> list[Hypothesis]:
    """The `n_best` of these hypotheses when what they left out counts as well."""
    penalties = [settings.coverage_penalty * coverage(attended) for attended in weights]
    pairs = zip(hypotheses, penalties, strict=True)
    scored = [replace(hypothesis, score=hypothesis.score + penalty) for hypothesis, penalty in pairs]
    return sorted(scored, key=lambda hypothesis: (len(hypothesis.unmet), -hypothesis.score))[: settings.n_best]
