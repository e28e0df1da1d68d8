"""What the weights say of a translation as a whole: how spread they are, and which source tokens they pass over."""

from dataclasses import dataclass

import numpy as np

from saccade.trace.trace import AttentionTrace, Matrix, proportions

PASSED_OVER = 0.2
END = "</s>"


@dataclass(frozen=True, slots=True)
class Gaze:
    """Of one translation; the mean over layers and heads is looked at."""

    entropy: float
    """In nats, the mean over target tokens: 0 looks at one source token only, ln n at n tokens alike."""
    uncovered: float
    """The share of source tokens that get less than 0.2 of attention in sum; the end mark is none of them."""


def gaze(trace: AttentionTrace) -> Gaze | None:
    """None where the target does not look at source tokens: at an image, say."""
    if "cross" not in trace.kinds:
        return None
    matrix = trace.matrix(kind="cross")
    text = [at for at, token in enumerate(trace.source.tokens) if token != END]
    return Gaze(entropy(matrix), uncovered(matrix[:, text]))


def entropy(matrix: Matrix) -> float:
    """The mean over rows of −Σ p ln p; a row is first made to sum to 1, and one of zeros looks nowhere: 0."""
    shares = proportions(matrix, axis=1)
    surprise = -np.log(shares, out=np.zeros(matrix.shape), where=shares > 0)
    return float((shares * surprise).sum(axis=1).mean())


def uncovered(matrix: Matrix, threshold: float = PASSED_OVER) -> float:
    """The share of columns whose sum over all rows is below the threshold."""
    return float((matrix.sum(axis=0) < threshold).mean()) if matrix.shape[1] else 0.0
