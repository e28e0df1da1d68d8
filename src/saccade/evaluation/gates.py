"""Whether scores are good enough: above a minimum, and no worse than those of an earlier evaluation."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.errors import DataError
from saccade.evaluation.scores import CorpusScore

LOWER_IS_BETTER = ("TER",)
Scores = Mapping[str, Sequence[CorpusScore]]
"""By system."""


def failures(scores: Scores, limits: Mapping[str, float]) -> Iterator[str]:
    """A sentence for each score beyond its limit: a minimum, or a maximum where lower is better."""
    for system, score in _each(scores):
        limit = limits.get(score.name)
        if limit is not None and _is_worse(score.name, score.value, limit):
            side = "at most" if score.name in LOWER_IS_BETTER else "at least"
            yield f"{score.name} of {system} must be {side} {limit:g}, but it is {score.value:.2f}."


def regressions(scores: Scores, baseline: Scores) -> Iterator[str]:
    """A sentence for each score that is worse than the baseline's by more than chance: beyond its 95% interval."""
    for system, score in _each(scores):
        assert score.interval is not None
        was = next((old for old in _matching(system, baseline) if old.name == score.name), None)
        if was is None:
            continue
        _check_comparable(score, was)
        best = score.interval.lower if score.name in LOWER_IS_BETTER else score.interval.upper
        if _is_worse(score.name, best, was.value):
            yield (
                f"{score.name} of {system} is {score.value:.2f} [{score.interval.lower:.2f}, "
                f"{score.interval.upper:.2f}], which is worse than the baseline's {was.value:.2f}."
            )


def read_baseline(path: Path) -> Scores:
    """The scores that `saccade evaluate --json` or `--json-summary` printed."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return {system["name"]: [_score(score) for score in system["scores"]] for system in table["systems"]}
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, RecursionError):
        raise DataError(
            f"{path} must be what `saccade evaluate --json` or `--json-summary` printed, but it is something else."
        ) from None


def _score(table: Mapping[str, Any]) -> CorpusScore:
    return CorpusScore(str(table["name"]), float(table["value"]), str(table["signature"]))


def _each(scores: Scores) -> Iterator[tuple[str, CorpusScore]]:
    return ((system, score) for system, found in scores.items() for score in found)


def _matching(system: str, baseline: Scores) -> Sequence[CorpusScore]:
    """The system of the same name, or the only one."""
    if system not in baseline and len(baseline) != 1:
        raise DataError(
            f"{system} is compared with the system of that name in the baseline, which has {', '.join(baseline)}. "
            "Name it like one of them: NAME=PATH."
        )
    return baseline.get(system) or next(iter(baseline.values()))


def _check_comparable(score: CorpusScore, was: CorpusScore) -> None:
    """Refuse scores that were computed in different ways; another version of sacreBLEU is no other way."""
    ways = [[part for part in each.signature.split("|") if "version:" not in part] for each in (score, was)]
    if ways[0] != ways[1]:
        raise DataError(
            f"{score.name} is comparable only if it was computed in the same way, but the signatures are "
            f"{score.signature} and, in the baseline, {was.signature}. Evaluate both with the same options."
        )


def _is_worse(metric: str, value: float, other: float) -> bool:
    return value > other if metric in LOWER_IS_BETTER else value < other
