"""How good the answers of a pointer network are: the same as the right ones, as large a hull, as short a tour.

An answer is a list of positions of its set, counted from 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Order = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HullScores:
    """Of some hulls beside the right ones."""

    exact_match: float
    """The share that is right, corner by corner."""
    area: float
    """The mean share of the right area that is enclosed, over the polygons that do not cross themselves; 0 without any.
    It forgives a corner that sticks out little."""
    invalid: float
    """The share that is no polygon: fewer than three corners, one of them twice, or edges that cross."""


@dataclass(frozen=True, slots=True)
class TourScores:
    """Of some tours beside the shortest."""

    exact_match: float
    """The share that is right, point by point."""
    length: float
    """The mean length, in lengths of the shortest tour, over the tours that visit every point once; 0 without any."""
    invalid: float
    """The share that does not."""


def exact_match(found: Sequence[Order], right: Sequence[Order]) -> float:
    """The share of answers without a mistake."""
    return float(np.mean([list(one) == list(other) for one, other in zip(found, right, strict=True)]))


def hull_scores(sets: Sequence[Points], found: Sequence[Order], right: Sequence[Order]) -> HullScores:
    """Compare hulls with the right ones."""
    shares = [
        area(points, corners) / area(points, wanted)
        for points, corners, wanted in zip(sets, found, right, strict=True)
        if is_polygon(points, corners)
    ]
    return HullScores(exact_match(found, right), _mean(shares), 1 - len(shares) / len(sets))


def tour_scores(sets: Sequence[Points], found: Sequence[Order], right: Sequence[Order]) -> TourScores:
    """Compare tours with the shortest."""
    ratios = [
        tour_length(points, order) / tour_length(points, shortest)
        for points, order, shortest in zip(sets, found, right, strict=True)
        if sorted(order) == list(range(len(points)))
    ]
    return TourScores(exact_match(found, right), _mean(ratios), 1 - len(ratios) / len(sets))


def tour_length(points: Points, order: Order) -> float:
    """From the first point through all others and back."""
    visited = points[list(order)]
    return float(np.linalg.norm(visited - np.roll(visited, -1, axis=0), axis=1).sum())


def area(points: Points, corners: Order) -> float:
    """What a polygon encloses, whichever way round: the shoelace formula."""
    x, y = points[list(corners)].T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def is_polygon(points: Points, corners: Order) -> bool:
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


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
