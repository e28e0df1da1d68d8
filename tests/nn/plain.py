"""Attention in plain Python, number by number from the paper's equations: what the tensors are checked against."""

import math
from collections.abc import Sequence

Vector = Sequence[float]
Matrix = Sequence[Vector]


def attention(
    queries: Matrix, keys: Matrix, values: Matrix, allowed: Sequence[Sequence[bool]]
) -> tuple[list[list[float]], list[list[float]]]:
    """softmax(QKᵀ/√d_k)V (Vaswani et al. 2017, eq. 1): contexts and weights.

    `allowed[q][k]` says whether query q may attend to key k. A query without any has zero weights.
    """
    contexts, weights = [], []
    for query, may in zip(queries, allowed, strict=True):
        raised = []
        for key, is_allowed in zip(keys, may, strict=True):
            score = 0.0
            for asked, offered in zip(query, key, strict=True):
                score += asked * offered
            raised.append(math.exp(score / math.sqrt(len(query))) if is_allowed else 0.0)
        total = sum(raised)
        weights.append([each / total if total else 0.0 for each in raised])
        context = [0.0] * len(values[0])
        for weight, value in zip(weights[-1], values, strict=True):
            for place, number in enumerate(value):
                context[place] += weight * number
        contexts.append(context)
    return contexts, weights


def product(vector: Vector, matrix: Matrix, bias: Vector) -> list[float]:
    """Wx + b."""
    return [
        sum(weight * number for weight, number in zip(row, vector, strict=True)) + extra
        for row, extra in zip(matrix, bias, strict=True)
    ]
