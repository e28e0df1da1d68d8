"""Exact stopping: what the same beam would have found had it never stopped before the limit."""

import pytest
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.ctranslate2_rule import beam_search as ctranslate2_rule
from tests.search.test_beam import Scripted, every_hypothesis
from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.beam import beam_search
from saccade.search.hypothesis import score
from saccade.search.settings import SearchSettings


def find(model, source, limit, **settings):
    asked = SearchSettings(stopping="exact", **settings)
    return beam_search(problem(model, source, [limit] * len(source)), asked)


@pytest.mark.parametrize("penalty", ["length", "gnmt"])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
def test_a_wide_beam_finds_the_best_of_all(penalty, length_penalty):
    asked = {"penalty": penalty, "length_penalty": length_penalty}
    for seed in range(4):
        model, source, limit = Explicit(seed, haste=1.0), sources(1, seed), 4
        found = find(model, source, limit, beam=model.vocab**limit, n_best=3, **asked)[0]

        def value(tokens, model=model, sentence=source[0]):
            return score(replay(model, sentence, tokens).log_prob, len(tokens), SearchSettings(**asked))

        best = sorted(every_hypothesis(model.vocab, limit), key=lambda tokens: -value(tokens))[:3]
        assert [each.ids + ((EOS,) if each.finished else ()) for each in found] == best


@sometimes(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    beam=st.integers(1, 5),
    limit=st.integers(1, 9),
    length_penalty=st.sampled_from([0.0, 0.5, 1.0, 1.7]),
    penalty=st.sampled_from(["length", "gnmt"]),
    haste=st.sampled_from([0.0, 2.0]),
    data=st.data(),
)
def test_stopping_changes_nothing(seed, beam, limit, length_penalty, penalty, haste, data):
    model, source, n_best = Explicit(seed, 6, haste=haste), sources(1, seed), data.draw(st.integers(1, beam))
    asked = {"beam": beam, "n_best": n_best, "length_penalty": length_penalty, "penalty": penalty}
    never_stops = ctranslate2_rule(
        lambda prefix: replay(model, source[0], (*prefix, EOS)).log_probs[-1].tolist(),
        beam=beam,
        n_best=10**9,  # which are never there
        limit=limit,
        eos=EOS,
        penalised=lambda log_prob, length: score(log_prob, length, SearchSettings(**asked)),
        exits_early=True,
    )
    found = find(model, source, limit, **asked)[0]
    assert [(each.ids, each.log_prob, each.score) for each in found] == never_stops[:n_best]


def test_it_goes_on_where_ctranslate2_has_seen_enough():
    """Two have ended after three steps, the better with log(0.5 · 0.5) / 2 = -0.69; log(0.3 · 0.98⁵) / 6 is -0.22."""
    after = {(): {2: 0.5, 4: 0.3}, (2,): {EOS: 0.5, 3: 0.2}, (2, 3): {EOS: 0.9}, (4,) * 5: {EOS: 0.98}}
    model = Scripted(after | {(4,) * length: {4: 0.98} for length in range(1, 5)})
    early = beam_search(problem(model, sources(1), [9]), SearchSettings(beam=2))
    assert early[0][0].ids == (2,)
    assert find(model, sources(1), 9, beam=2)[0][0].ids == (4,) * 5


def test_it_stops_when_nothing_better_can_come():
    model = Scripted({(): {2: 0.98}, (2,): {EOS: 0.98}})
    assert find(model, sources(1), 30, beam=2, length_penalty=0.0)[0][0].ids == (2,)
    assert len(model.rows) == 2, "log(0.98²) is more than any other prefix has left"


def test_a_prefix_may_look_worse_now_and_be_better_in_the_end():
    """After two steps 2 has ended with log(0.6 · 0.98) / 2 = -0.27; 4 4 could end next with log(0.3) / 3 = -0.40 at
    best, and yet ends after six with log(0.3 · 0.995⁵) / 6 = -0.20.
    """
    after = {(): {2: 0.6, 4: 0.3}, (2,): {EOS: 0.98}, (4,) * 5: {EOS: 0.995}}
    model = Scripted(after | {(4,) * length: {4: 0.995} for length in range(1, 5)})
    assert find(model, sources(1), 9, beam=2)[0][0].ids == (4,) * 5
