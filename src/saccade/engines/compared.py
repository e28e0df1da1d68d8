"""Translations compared with each other: minimum Bayes risk over what a search has found, or chance has drawn."""

from collections.abc import Sequence
from dataclasses import fields, replace
from math import exp
from typing import Any

from saccade.evaluation.risk import MinimumRisk, expected_utility
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import BELONGS_TO, SearchSettings


def candidates(settings: SearchSettings, mbr: MinimumRisk) -> SearchSettings:
    """The search that finds what is to be compared: so many draws, or all that the beam has."""
    if not mbr.samples:
        return replace(settings, n_best=max(settings.n_best, settings.beam))
    usual = {field.name: field.default for field in fields(settings)}
    others: dict[str, Any] = {name: usual[name] for name, methods in BELONGS_TO.items() if "sampling" not in methods}
    return replace(settings, method="sampling", n_best=mbr.samples, **others)


def by_risk(
    found: Sequence[Hypothesis], texts: Sequence[str], mbr: MinimumRisk, *, drawn: bool, language: str
) -> list[Hypothesis]:
    """One hypothesis for each text, that of the highest expected utility first, which is their score.

    What was drawn by chance counts as often as it was drawn, and what a beam found by its probability.
    """
    highest = max(each.log_prob for each in found)
    weights = [1.0 if drawn else exp(each.log_prob - highest) for each in found]
    expected = expected_utility(texts, weights, utility=mbr.utility, language=language)
    first = {text: place for place, text in reversed(list(enumerate(texts)))}
    ranked = sorted(first.values(), key=lambda place: (-expected[place], place))
    return [replace(found[place], score=expected[place]) for place in ranked]
