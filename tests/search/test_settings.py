import math

import pytest

from saccade.search.settings import SearchSettings


def test_the_limit_grows_with_the_source_and_rounds_up():
    settings = SearchSettings(max_length_factor=1.5, max_length_extra=10)
    assert [settings.limit(length) for length in (0, 1, 2, 3)] == [10, 12, 13, 15]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beam": 0, "n_best": 0}, "beam must be from 1 to 1,000, not 0"),
        ({"beam": 4, "n_best": 5}, "n_best must be at most beam, which is 4, not 5"),
        ({"length_penalty": -0.5}, "length_penalty must be from 0 to 10, not -0.5"),
        ({"length_penalty": math.nan}, "length_penalty must be from 0 to 10, not nan"),
        ({"max_length_factor": math.inf}, "max_length_factor must be from 0 to 1,000, not inf"),
        ({"beam": 10**12}, "beam must be from 1 to 1,000, not 1000000000000"),
        ({"seed": -1, "method": "sampling"}, "seed must be from 0 to 4,294,967,295, not -1"),
        ({"max_length_extra": 0}, "max_length_extra must be from 1 to 100,000, not 0"),
    ],
)
def test_what_cannot_be_searched_with_is_refused(given, message):
    with pytest.raises(ValueError) as problem:  # noqa: PT011, the text is compared whole
        SearchSettings(**given)
    assert message in str(problem.value).split("; ")


def test_all_problems_are_told_at_once():
    with pytest.raises(ValueError, match=r"n_best must be .*; max_length_extra must be"):
        SearchSettings(n_best=0, max_length_extra=0)
    with pytest.raises(ValueError, match=r"n_best must be .*; groups must be"):
        SearchSettings(method="diverse", n_best=9, groups=3)
