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


def dot(one: Vector, other: Vector) -> float:
    """Σ aᵢbᵢ."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        total += a * b
    return total


def sigmoid(number: float) -> float:
    """1 / (1 + e⁻ˣ)."""
    return 1 / (1 + math.exp(-number))


def softmax(scores: Vector, may: Sequence[bool]) -> list[float]:
    """eˣ over the sum of eˣ, among those that may; zeros where none may."""
    raised = [math.exp(score) if is_allowed else 0.0 for score, is_allowed in zip(scores, may, strict=True)]
    return [each / sum(raised) if any(may) else 0.0 for each in raised]


def sparsemax(scores: Vector, may: Sequence[bool]) -> list[float]:
    """Martins & Astudillo 2016, algorithm 1: sort, find the support, subtract its threshold."""
    ordered = sorted((score for score, is_allowed in zip(scores, may, strict=True) if is_allowed), reverse=True)
    threshold = math.inf
    for k in range(1, len(ordered) + 1):
        if 1 + k * ordered[k - 1] > sum(ordered[:k]):
            threshold = (sum(ordered[:k]) - 1) / k
    return [max(score - threshold, 0.0) if is_allowed else 0.0 for score, is_allowed in zip(scores, may, strict=True)]


def entmax(scores: Vector, may: Sequence[bool]) -> list[float]:
    """[(α - 1)z - τ]₊^(1 / (α - 1)) with α = 1.5 (Peters et al. 2019): τ by halving until they sum to one."""
    allowed = [score / 2 for score, is_allowed in zip(scores, may, strict=True) if is_allowed]
    if not allowed:
        return [0.0] * len(scores)
    low, high = max(allowed) - 1, max(allowed)  # at low the highest alone has 1, at high nobody has anything
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(score - middle, 0.0) ** 2 for score in allowed) >= 1:
            low = middle
        else:
            high = middle
    return [
        max(score / 2 - low, 0.0) ** 2 if is_allowed else 0.0 for score, is_allowed in zip(scores, may, strict=True)
    ]


def mixture(weights: Vector, values: Matrix) -> list[float]:
    """Σ aⱼvⱼ."""
    return [
        sum(weight * value[place] for weight, value in zip(weights, values, strict=True))
        for place in range(len(values[0]))
    ]
