"""Figures of answers, on squares that can be counted by hand."""

import numpy as np
import pytest

from saccade.tasks.pointing.geometry import answer_scores, area, exact_match, is_polygon, tour_length

SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.25]])


def test_exact_match_counts_whole_answers():
    assert exact_match([(0, 1), (1, 0), (0,)], [np.array([0, 1]), [0, 1], [0, 1]]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("corners", "is_one"),
    [
        ((0, 1, 2, 3), True),
        ((3, 2, 1, 0), True),
        ((0, 1, 2), True),
        ((0, 4, 1, 2, 3), True),  # bent inwards
        ((0, 2, 1, 3), False),  # crosses itself
        ((0, 1), False),
        ((), False),
        ((0, 1, 2, 0), False),
    ],
)
def test_a_polygon_has_three_corners_and_does_not_cross_itself(corners: tuple[int, ...], is_one: bool):
    assert is_polygon(SQUARE, corners) is is_one


def test_area_does_not_depend_on_the_direction():
    assert area(SQUARE, (0, 1, 2, 3)) == area(SQUARE, (2, 1, 0, 3)) == 1.0
    assert area(SQUARE, (0, 1, 2)) == 0.5
    assert area(SQUARE, (0, 4, 1, 2, 3)) == 1 - 0.125


def test_hulls_are_judged_by_area_where_they_are_polygons():
    """One is right, one has half of it, one crosses itself."""
    found = [(0, 1, 2, 3), (0, 1, 2), (0, 2, 1, 3)]
    scores = answer_scores("hull", [SQUARE] * 3, found, [(0, 1, 2, 3)] * 3)
    assert scores == pytest.approx({"exact match": 1 / 3, "area": 0.75, "invalid": 1 / 3})


def test_tours_are_judged_by_length_where_they_visit_every_point_once():
    """The way across twice is 2 + 2√2 long, and the square 4."""
    corners = SQUARE[:4]
    assert tour_length(corners, (0, 1, 2, 3)) == 4.0
    found = [(0, 1, 2, 3), (0, 2, 1, 3), (0, 1, 2), (0, 1, 1, 2)]
    scores = answer_scores("tour", [corners] * 4, found, [(0, 1, 2, 3)] * 4)
    ratio = (1 + (2 + 2 * 2**0.5) / 4) / 2
    assert scores == pytest.approx({"exact match": 0.25, "length": ratio, "invalid": 0.5})


def test_without_a_valid_answer_there_is_nothing_to_measure():
    assert answer_scores("hull", [SQUARE], [(0, 1)], [(0, 1, 2, 3)])["area"] == 0.0
    assert answer_scores("tour", [SQUARE], [(0, 1)], [(0, 1, 2, 3, 4)])["length"] == 0.0
