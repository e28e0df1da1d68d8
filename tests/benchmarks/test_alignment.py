"""Links between units as links between words."""

import numpy as np

from benchmarks.alignment import links_between_words


def test_words_are_linked_if_any_of_their_units_are():
    source, target = np.array([[1.0, 0], [1, 0], [0, 1]]), np.array([[1.0, 0], [0.5, 0.5], [0, 0]])
    assert links_between_words([(0, 0), (1, 0), (2, 1), (0, 2)], source, target) == [(0, 0), (1, 0), (1, 1)]
