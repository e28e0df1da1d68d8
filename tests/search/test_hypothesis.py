import math

import pytest

from saccade.search.hypothesis import score
from saccade.search.settings import SearchSettings


def test_the_length_penalty_divides_by_a_power_of_the_length():
    assert score(-6.0, 4, SearchSettings(length_penalty=1.0)) == -1.5
    assert score(-6.0, 4, SearchSettings(length_penalty=0.5)) == -3.0
    assert score(-6.0, 4, SearchSettings(length_penalty=0.0)) == -6.0


def test_the_gnmt_penalty_is_equation_14_of_wu_et_al():
    """(5 + 7) / 6 = 2 and (5 + 19) / 6 = 4, so with α = 0.5 we divide by √2 and by 2."""
    settings = SearchSettings(length_penalty=0.5, penalty="gnmt")
    assert score(-6.0, 19, settings) == pytest.approx(-3.0, abs=1e-12)
    assert score(-6.0, 7, settings) == pytest.approx(-6.0 / math.sqrt(2), abs=1e-12)
    assert score(-6.0, 1, settings) == -6.0


def test_an_empty_hypothesis_has_its_end():
    assert score(-1.0, 1, SearchSettings(length_penalty=0.3)) == -1.0
    assert score(-1.0, 1, SearchSettings(length_penalty=1.0, penalty="gnmt")) == -1.0
