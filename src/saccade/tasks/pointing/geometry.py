"""Exact answers about points in the plane, convex hulls and shortest tours; and how good other answers are.

An answer is a list of positions of its set, counted from 0.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

FEWEST = 3
"""Points of a hull or of a tour."""
MOST_ON_TOUR = 12
"""Points of the largest tour whose shortest order is looked for: time and memory double with each more."""

PointTask = Literal["sort", "hull", "tour"]
Points = NDArray[np.float64]
Order = NDArray[np.int64]
Answer = Sequence[int] | Order


def convex_hull(points: Points) -> Order:
    """The corners of the smallest convex polygon around all points, counter-clockwise from the leftmost of them.

    Andrew's monotone chain (1979). A point on an edge is no corner.
    """
    need_enough("A convex hull", len(points))
    places: list[list[float]] = points.tolist()
    along = sorted(range(len(places)), key=places.__getitem__)
    lower, upper = _chain(places, along), _chain(places, along[::-1])
    return np.array(lower[:-1] + upper[:-1])


def shortest_tours(points: NDArray[np.float64]) -> Order:
    """The shortest way from the first point through all others and back, counter-clockwise, for every set at once.

    Held & Karp 1962: the cheapest way through a subset, by its last point, from those through all smaller ones. Bit n
    of a subset is point n + 1. `points` are sets × points × 2.
    """
    count, others = len(points), points.shape[1] - 1
    need_enough("A tour", others + 1)
    if others + 1 > MOST_ON_TOUR:
        raise DataError(
            f"The shortest tour is found by trying all of them in effect, so it must have at most {MOST_ON_TOUR} "
            f"points, but there are {others + 1}. Take fewer points."
        )
    distance = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    subsets, bit = np.arange(1 << others), 1 << np.arange(others)
    sizes = (subsets[:, None] & bit != 0).sum(axis=1)
    cost = np.full((count, len(subsets), others), np.inf)
    parent = np.zeros(cost.shape, dtype=np.int64)
    cost[:, bit, np.arange(others)] = distance[:, 0, 1:]
    for size in range(2, others + 1):
        for last in range(others):
            chosen = subsets[(sizes == size) & (subsets & bit[last] != 0)]
            ways = cost[:, chosen ^ bit[last]] + distance[:, None, 1:, last + 1]
            parent[:, chosen, last] = ways.argmin(axis=-1)
            cost[:, chosen, last] = ways.min(axis=-1)
    return _counter_clockwise(points, _walked_back(parent, (cost[:, -1] + distance[:, 1:, 0]).argmin(axis=1)))


def _chain(places: list[list[float]], along: Sequence[int]) -> list[int]:
    """The points at which one side of a hull turns left, both ends included."""
    chain: list[int] = []
    for new in along:
        x, y = places[new]
        while len(chain) > 1:
            (x1, y1), (x2, y2) = places[chain[-2]], places[chain[-1]]
            if (x2 - x1) * (y - y1) > (y2 - y1) * (x - x1):
                break
            chain.pop()
        chain.append(new)
    return chain


def _walked_back(parent: NDArray[np.int64], last: NDArray[np.int64]) -> Order:
    """The tours that end with these points, from their first point on."""
    rows, subset = np.arange(len(last)), np.full(len(last), parent.shape[1] - 1)
    order = [last]
    for _ in range(parent.shape[2] - 1):
        before = parent[rows, subset, last]
        subset, last = subset ^ (1 << last), before
        order.append(last)
    return np.stack([np.zeros_like(last), *(each + 1 for each in reversed(order))], axis=1)


def _counter_clockwise(points: NDArray[np.float64], tours: Order) -> Order:
    """The same tours, turned round where they go clockwise: a shortest one never crosses itself."""
    x, y = np.moveaxis(np.take_along_axis(points, tours[:, :, None], axis=1), -1, 0)
    doubled_area = (x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)
    backwards = np.concatenate([tours[:, :1], tours[:, :0:-1]], axis=1)
    return np.where(doubled_area[:, None] < 0, backwards, tours)


def need_enough(what: str, count: int) -> None:
    """Refuse what has no inside."""
    if count < FEWEST:
        raise DataError(f"{what} must have at least {FEWEST} points, but there are {count}. Take more points.")


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
