"""Hulls and tours against slower ways to find them."""

from itertools import permutations

import numpy as np
import pytest

from saccade.tasks.pointing.geometry import convex_hull, shortest_tours


def left_of(points: np.ndarray, start: int, end: int, point: int) -> float:
    (x1, y1), (x2, y2), (x, y) = points[start], points[end], points[point]
    return (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)


def hull_by_all_pairs(points: np.ndarray) -> list[int]:
    """An edge of the hull has all other points on its left; one leads on from another."""
    count = len(points)
    after = {
        start: end
        for start, end in permutations(range(count), 2)
        if all(left_of(points, start, end, other) > 0 for other in range(count) if other not in (start, end))
    }
    hull = [int(points[:, 0].argmin())]
    while (corner := after[hull[-1]]) != hull[0]:
        hull.append(corner)
    return hull


def length(points: np.ndarray, order: tuple[int, ...]) -> float:
    total = 0.0
    for here, there in zip(order, order[1:] + order[:1], strict=True):
        total += float(np.hypot(*(points[here] - points[there])))
    return total


@pytest.mark.parametrize("count", [3, 4, 5, 10, 25])
def test_a_hull_has_all_points_on_the_left_of_its_edges(count: int):
    random = np.random.default_rng(count)
    for _ in range(30):
        points = random.random((count, 2))
        assert convex_hull(points).tolist() == hull_by_all_pairs(points)


def test_what_lies_on_an_edge_or_twice_is_no_corner():
    square = np.array([[1, 1], [0, 0], [0.5, 0], [1, 0], [0, 1], [0.5, 0.5], [0, 0.5], [1, 1]], dtype=float)
    corners = convex_hull(square)
    assert square[corners].tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]


def test_points_in_a_line_have_two_ends():
    assert convex_hull(np.array([[0.5, 0.5], [0.1, 0.1], [0.9, 0.9]])).tolist() == [1, 2]


@pytest.mark.parametrize("count", [3, 4, 5, 6])
def test_a_tour_is_the_shortest_of_all_orders(count: int):
    sets = np.random.default_rng(count).random((8, count, 2))
    for points, tour in zip(sets, shortest_tours(sets), strict=True):
        orders = [(0, *others) for others in permutations(range(1, count))]
        shortest = min(orders, key=lambda order: length(points, order))
        assert tour.tolist() in ([*shortest], [0, *shortest[:0:-1]])


def test_a_tour_of_points_on_a_circle_goes_round_it():
    """Also as many as are allowed, whatever their order; counter-clockwise from the first."""
    angles = np.random.default_rng(1).permutation(12) * 2 * np.pi / 12 + 0.3
    (tour,) = shortest_tours(np.stack([np.cos(angles), np.sin(angles)], axis=-1)[None])
    steps = np.diff(angles[np.append(tour, tour[0])]) % (2 * np.pi)
    np.testing.assert_allclose(steps, 2 * np.pi / 12)
    assert tour[0] == 0


def test_each_tour_is_found_without_regard_to_the_others():
    sets = np.random.default_rng(2).random((5, 7, 2))
    together = shortest_tours(sets)
    for row in range(5):
        assert shortest_tours(sets[row : row + 1])[0].tolist() == together[row].tolist()
