"""Phrases that must be written, counted by hand; that they are is in the contracts."""

import pytest
from tests.search.test_beam import every_hypothesis
from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.constraints import Constraints, contains
from saccade.search.hypothesis import score
from saccade.search.required import next_tokens, progress
from saccade.search.search import search
from saccade.search.settings import SearchSettings

PHRASES = [(2, 3), (3, 4, 5)]


@pytest.mark.parametrize(
    ("tokens", "written", "following"),
    [
        ([], 0, [2, 3]),
        ([2], 1, [3, 3]),
        ([2, 3], 3, [4]),  # the first is there, and the second has begun
        ([2, 3, 4], 4, [5]),
        ([2, 3, 4, 5], 5, []),
        ([3, 4], 2, [2, 5]),
        ([3, 4, 2], 1, [3, 3]),  # broken off
        ([3, 4, 5, 9, 2], 4, [3]),
    ],
)
def test_progress(tokens, written, following):
    assert (progress(tokens, PHRASES), next_tokens(tokens, PHRASES)) == (written, following)


def find(model, limits, required, **settings):
    constraints = [Constraints(required=required)] * len(limits)
    return search(problem(model, sources(len(limits)), limits, constraints=constraints), SearchSettings(**settings))


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_that_has_the_phrase(seed):
    model, settings = Explicit(seed, haste=1.0), SearchSettings(beam=4**4)
    (found,) = find(model, [4], ((2, 3),), beam=4**4)[0]

    def value(tokens):
        return score(replay(model, sources(1)[0], tokens).log_prob, len(tokens), settings)

    having = [tokens for tokens in every_hypothesis(4, 4) if contains(tokens, (2, 3))]
    assert found.ids + ((EOS,) if found.finished else ()) == max(having, key=value)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_has_no_room_is_told(beam):
    roomy, narrow = (find(Explicit(1, vocab=9), [limit], ((7, 8), (5,)), beam=beam)[0][0] for limit in (9, 2))
    assert roomy.unmet == ()
    assert narrow.unmet in (((7, 8),), ((5,),))
    assert len(narrow.ids) == 2


def test_sentences_without_phrases_are_searched_as_ever():
    model, source = Explicit(1, vocab=9), sources(2)
    settings, constraints = SearchSettings(n_best=5), [Constraints(), Constraints(required=((7,),))]
    found = search(problem(model, source, [9, 9], constraints=constraints), settings)
    assert found[0] == search(problem(model, source, [9, 9]), settings)[0]
