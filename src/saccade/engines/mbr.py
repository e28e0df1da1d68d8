"""Minimum Bayes risk: of the translations that a search has found or sampled, those most like all the others."""

from collections.abc import Sequence
from dataclasses import fields, replace
from math import exp
from typing import Any

from saccade.evaluation.risk import MinimumRisk, expected_utility
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import BELONGS_TO, SearchSettings


def candidate_search(settings: SearchSettings, mbr: MinimumRisk) -> SearchSettings:
    """The search for the candidates to be compared: `mbr.samples` samples, or all that the beam has."""
    if not mbr.samples:
        return replace(settings, n_best=max(settings.n_best, settings.beam))
    usual = {field.name: field.default for field in fields(settings)}
    others: dict[str, Any] = {name: usual[name] for name, methods in BELONGS_TO.items() if "sampling" not in methods}
    return replace(settings, method="sampling", n_best=mbr.samples, **others)


def rank_by_risk(
    candidates: Sequence[Hypothesis], texts: Sequence[str], mbr: MinimumRisk, *, sampled: bool, language: str
) -> list[Hypothesis]:
    """One hypothesis for each text, that of the highest expected utility first, which is their score."""
    # A sampled candidate counts as often as it was drawn, one that a beam has found by its probability.
    highest = max(candidate.log_prob for candidate in candidates)
    weights = [1.0 if sampled else exp(candidate.log_prob - highest) for candidate in candidates]
    expected = expected_utility(texts, weights, utility=mbr.utility, language=language)
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    ranked = sorted(first.values(), key=lambda place: (-expected[place], place))
    return [replace(candidates[place], score=expected[place]) for place in ranked]
