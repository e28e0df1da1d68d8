"""Exact answers about points in the plane: convex hulls, and shortest tours through a few of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

FEWEST = 3
"""Points of a hull or of a tour."""
MOST_ON_TOUR = 12
"""Points of the largest tour whose shortest order is looked for: time and memory double with each more."""

Points = NDArray[np.float64]
Order = NDArray[np.int64]


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
