"""How good the answers of a pointer network are: the same as the right ones, as large a hull, as short a tour.

An answer is a list of positions of its set, counted from 0.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from saccade.tasks.pointing.geometry import Order, Points
from saccade.tasks.pointing.settings import PointTask

Answer = Sequence[int] | Order


def answer_scores(
    task: PointTask, sets: Sequence[Points], answers: Sequence[Answer], right: Sequence[Answer]
) -> dict[str, float]:
    """`exact match`: the share of answers without a mistake.

    Of hulls also `area`, the mean share of the right area that is enclosed, which forgives a corner that sticks out
    little; of tours `length`, the mean in lengths of the shortest tour. Both count what is valid, and are 0 if nothing
    is; `invalid` is the share that is no polygon without crossings, or that does not visit every point once.
    """
    scores = {"exact match": exact_match(answers, right)}
    if task == "sort":
        return scores
    name, measure, is_valid = ("area", area, is_polygon) if task == "hull" else ("length", tour_length, is_tour)
    triples = zip(sets, answers, right, strict=True)
    ratios = [measure(points, own) / measure(points, best) for points, own, best in triples if is_valid(points, own)]
    return scores | {name: float(np.mean(ratios)) if ratios else 0.0, "invalid": 1 - len(ratios) / len(sets)}


def exact_match(answers: Sequence[Answer], right: Sequence[Answer]) -> float:
    """The share of answers without a mistake."""
    return float(np.mean([list(one) == list(other) for one, other in zip(answers, right, strict=True)]))


def is_tour(points: Points, order: Answer) -> bool:
    """Whether it visits every point once."""
    return sorted(order) == list(range(len(points)))


def tour_length(points: Points, order: Answer) -> float:
    """From the first point through all others and back."""
    visited = points[list(order)]
    return float(np.linalg.norm(visited - np.roll(visited, -1, axis=0), axis=1).sum())


def area(points: Points, corners: Answer) -> float:
    """What a polygon encloses, whichever way round: the shoelace formula."""
    x, y = points[list(corners)].T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def is_polygon(points: Points, corners: Answer) -> bool:
    """Whether it has three corners or more, all different, and edges that do not cross."""
    if len(corners) < 3 or len(set(corners)) < len(corners):
        return False
    places = points[list(corners)]
    edges = list(zip(places, np.roll(places, -1, axis=0), strict=True))
    return not any(_cross(*one, *other) for one, other in combinations(edges, 2))


def _cross(a: Points, b: Points, c: Points, d: Points) -> bool:
    """Whether a–b and c–d have a point in common that is an end of neither."""
    return bool(_side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0)


def _side(a: Points, b: Points, point: Points) -> float:
    """Above 0 to the left of the way from a to b, below 0 to the right."""
    return float((b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]))
