"""Groups that avoid each other, against a plain twin of one prefix a group."""

from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.beam import beam_search
from saccade.search.diverse import diverse_search
from saccade.search.settings import SearchSettings


def find(model, source, limit, search=diverse_search, **settings):
    return search(problem(model, source, [limit] * len(source)), SearchSettings(**settings))


def plain(model, sentence, groups, limit, diversity):
    """Groups of one: each takes the likeliest token, less what it costs that groups before have just taken it."""
    prefixes = [()] * groups
    for _ in range(limit):
        taken = []
        for group, prefix in enumerate(prefixes):
            if prefix[-1:] != (EOS,):
                log_probs = replay(model, sentence, (*prefix, EOS)).log_probs[-1].tolist()
                worth = [log_prob - diversity * taken.count(token) for token, log_prob in enumerate(log_probs)]
                taken.append(worth.index(max(worth)))
                prefixes[group] = (*prefix, taken[-1])
    return prefixes


@sometimes(max_examples=50)
@given(seed=st.integers(0, 10**6), groups=st.integers(1, 4), diversity=st.sampled_from([0.0, 0.7, 3.0]))
def test_groups_of_one_are_the_plain_loop(seed, groups, diversity):
    model, source = Explicit(seed, vocab=6), sources(2, seed)
    found = find(model, source, 6, method="diverse", beam=groups, n_best=groups, diversity=diversity)
    for sentence, hypotheses in zip(source, found, strict=True):
        written = {each.ids + ((EOS,) if each.finished else ()) for each in hypotheses}
        assert written == set(plain(model, sentence, groups, 6, diversity))


@sometimes(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_one_group_is_a_beam_and_the_first_of_many_is_too(seed):
    model, source = Explicit(seed, vocab=6), sources(2, seed)
    beam = find(model, source, 6, beam_search, beam=2, n_best=2)
    assert find(model, source, 6, method="diverse", beam=2, n_best=2, groups=1) == beam
    for one, many in zip(beam, find(model, source, 6, method="diverse", beam=6, n_best=6, groups=3), strict=True):
        assert set(one) <= set(many)


def test_first_words_differ_where_those_of_a_beam_are_all_the_same():
    model = Explicit(3, vocab=9, sharpness=0.5)
    model.table[..., 2] += 5.0
    model.table = model.table.log_softmax(-1)

    def firsts(**settings):
        return len({each.ids[:1] for each in find(model, sources(1), 6, beam=4, n_best=4, **settings)[0]})

    assert firsts(search=beam_search) == 1
    assert firsts(method="diverse", diversity=9.0) == 4
