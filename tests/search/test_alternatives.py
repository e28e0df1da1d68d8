"""The likeliest next tokens of a prefix, each completed."""

from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.constraints import Constraints
from saccade.search.search import search
from saccade.search.settings import SearchSettings

PREFIXES = [(), (4, 5), (6,)]


def find(model, constraints, **settings):
    count = len(constraints)
    return search(problem(model, sources(count), [8] * count, constraints=constraints), SearchSettings(**settings))


def test_each_is_what_a_search_finds_that_is_made_to_begin_so():
    model = Explicit(2, vocab=9)
    found = find(model, [Constraints(prefix=each) for each in PREFIXES], method="alternatives", n_best=3, beam=4)
    for sentence, (prefix, several) in enumerate(zip(PREFIXES, found, strict=True)):
        after = replay(model, sources(3)[sentence], (*prefix, EOS)).log_probs[-1]
        tokens = after.sort(descending=True).indices[:3].tolist()
        written = [each.ids + ((EOS,) if each.finished else ()) for each in several]
        assert [each[: len(prefix) + 1] for each in written] == [(*prefix, token) for token in tokens]
        for token, hypothesis in zip(tokens, several, strict=True):
            if token != EOS:
                forced = [Constraints(prefix=(*prefix, token))] * 3
                assert find(model, forced, beam=4)[sentence] == [hypothesis]


def test_the_end_is_an_alternative():
    model = Explicit(2, vocab=9, haste=20.0)
    found = find(model, [Constraints(prefix=(4,))], method="alternatives", n_best=2)[0]
    assert found[0].ids == (4,)
    assert len(found[1].ids) > 1


def test_there_are_no_more_than_there_are_tokens():
    assert len(find(Explicit(2, vocab=3), [Constraints()], method="alternatives", n_best=9)[0]) == 3
