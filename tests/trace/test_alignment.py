import numpy as np

from saccade.trace.alignment import links


def test_each_target_token_is_linked_to_what_it_attends_to_most():
    matrix = np.array([[0.1, 0.7, 0.2], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    assert links(matrix) == [(1, 0), (0, 1), (2, 2), (1, 3)]


def test_among_equals_the_first_is_taken_and_nothing_is_linked_to_nothing():
    assert links(np.array([[0.5, 0.5], [0.0, 0.0]])) == [(0, 0)]
