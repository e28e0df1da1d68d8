"""Tokens that come one by one are those of the whole."""

import pytest
from tests.search.toys import Explicit, problem, sources

from saccade.search.constraints import FREE, Constraints
from saccade.search.search import search, stream
from saccade.search.settings import SearchSettings

SEARCHES = {
    "greedy": SearchSettings(beam=1),
    "greedy with rules": SearchSettings(beam=1, no_repeat_ngram=2, min_length=3),
    "sampling": SearchSettings(method="sampling", temperature=2.0, seed=5),
}


def listened(streaming):
    """What came, and what it came to."""
    tokens = []
    while True:
        try:
            tokens.append(next(streaming))
        except StopIteration as end:
            return tokens, end.value


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("constraints", [FREE, Constraints(prefix=(3, 4), banned=((5,),))], ids=["free", "held"])
def test_tokens_and_their_end_are_what_the_search_finds(name, constraints):
    model = Explicit(7, vocab=8, sharpness=1.0)
    for seed in range(5):
        asked = problem(model, sources(1, seed), [9], banned=[0], constraints=[constraints], names=["it"])
        ((whole,),) = search(asked, SEARCHES[name])
        tokens, end = listened(stream(asked, SEARCHES[name]))
        assert (tuple(tokens), end) == (whole.ids, whole)


def test_a_token_comes_before_the_next_is_asked_for():
    model = Explicit(7, vocab=8, haste=-9.0)
    tokens = stream(problem(model, sources(1), [9]), SearchSettings(beam=1))
    assert model.rows == []
    next(tokens)
    assert model.rows == [1]
    tokens.close()
    assert model.rows == [1]
