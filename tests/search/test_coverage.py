import math

import numpy as np
import pytest

from saccade.search.coverage import LEAST, by_coverage, coverage
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings


def test_it_is_equation_14_of_wu_et_al():
    """Columns sum to 0.5, 1.2, which counts as 1, and 0.3."""
    weights = np.array([[0.5, 0.4, 0.1], [0.0, 0.8, 0.2]])
    assert coverage(weights) == pytest.approx(math.log(0.5) + math.log(0.3))


def test_a_token_never_looked_at_costs_much_but_not_all():
    assert coverage(np.array([[1.0, 0.0]])) == pytest.approx(math.log(LEAST))


def test_what_leaves_a_token_out_falls_behind():
    short, long = Hypothesis((4,), -1.0, -1.0, True), Hypothesis((4, 5), -2.0, -1.2, True)
    weights = [np.array([[1.0, 0.01]]), np.array([[1.0, 0.0], [0.0, 1.0]])]
    for penalty, expected in ((0.01, short), (0.2, long)):
        (best,) = by_coverage([short, long], weights, SearchSettings(coverage_penalty=penalty))
        assert best.ids == expected.ids
    assert best.score == long.score
    assert best.log_prob == long.log_prob
