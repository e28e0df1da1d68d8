import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.ctranslate2_rule import beam_search as ctranslate2_rule
from tests.search.toys import EOS, Explicit, Uniform, problem, replay, sources

from saccade.search.beam import beam_search, top_stable
from saccade.search.hypothesis import score
from saccade.search.settings import SearchSettings


def find(model, source, limits, *, banned=(), **settings):
    return beam_search(problem(model, source, limits, banned=banned), SearchSettings(**settings))


def every_hypothesis(vocab, limit):
    """All that can be written: what ends within the limit, and what is cut off at it."""
    others = [token for token in range(vocab) if token != EOS]
    for length in range(limit):
        for ids in itertools.product(others, repeat=length):
            yield (*ids, EOS)
    yield from itertools.product(others, repeat=limit)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", ["length", "gnmt"])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
def test_a_wide_beam_is_exhaustive_search(seed, penalty, length_penalty):
    model, source, limit = Explicit(seed), sources(2, seed), 4
    settings = SearchSettings(beam=model.vocab**limit, n_best=1, penalty=penalty, length_penalty=length_penalty)
    found = beam_search(problem(model, source, [limit] * 2), settings)
    for sentence, hypotheses in zip(source, found, strict=True):

        def value(tokens, sentence=sentence):
            return score(replay(model, sentence, tokens).log_prob, len(tokens), settings)

        best = max(every_hypothesis(model.vocab, limit), key=value)
        tokens = hypotheses[0].ids + ((EOS,) if hypotheses[0].finished else ())
        assert tokens == best
        assert hypotheses[0].score == pytest.approx(value(best))


def test_a_wide_beam_finds_every_hypothesis_there_is():
    model, limit = Explicit(3, vocab=3), 3
    everything = list(every_hypothesis(3, limit))
    found = find(model, sources(1), [limit], beam=50, n_best=50)[0]
    written = [hypothesis.ids + ((EOS,) if hypothesis.finished else ()) for hypothesis in found]
    assert sorted(written) == sorted(everything)


@sometimes(max_examples=300)
@given(
    seed=st.integers(0, 10**6),
    vocab=st.integers(3, 9),
    beam=st.integers(1, 6),
    limit=st.integers(1, 9),
    length_penalty=st.sampled_from([0.0, 0.5, 1.0, 1.7]),
    penalty=st.sampled_from(["length", "gnmt"]),
    sharpness=st.sampled_from([0.5, 2.0, 6.0]),
    haste=st.sampled_from([-3.0, 0.0, 3.0]),
    data=st.data(),
)
def test_the_rule_of_ctranslate2(seed, vocab, beam, limit, length_penalty, penalty, sharpness, haste, data):
    n_best = data.draw(st.integers(1, beam))
    banned = data.draw(st.sampled_from([(), (0,), (0, 2)]))
    model, source = Explicit(seed, vocab, sharpness, haste), sources(1, seed)
    settings = SearchSettings(beam=beam, n_best=n_best, length_penalty=length_penalty, penalty=penalty)

    def log_probs_after(prefix):
        following = replay(model, source[0], (*prefix, EOS)).log_probs[-1].tolist()
        return [-math.inf if token in banned else value for token, value in enumerate(following)]

    expected = ctranslate2_rule(
        log_probs_after,
        beam=beam,
        n_best=n_best,
        limit=limit,
        eos=EOS,
        penalised=lambda log_prob, length: score(log_prob, length, settings),
        exits_early=length_penalty == 0,
    )
    found = beam_search(problem(model, source, [limit], banned=banned), settings)[0]
    assert [(hypothesis.ids, hypothesis.log_prob, hypothesis.score) for hypothesis in found] == expected


class Scripted(Explicit):
    """Probabilities written by hand, by prefix; the rest of the vocabulary shares what is left."""

    def __init__(self, after):
        super().__init__(vocab=5)
        self.after = after

    def log_probs(self, prefix, source):
        return torch.tensor([self.following(tuple(ids)) for ids in prefix[:, 1:].tolist()]).log()

    def following(self, prefix):
        given = self.after.get(prefix, {})
        rest = (1 - sum(given.values())) / (self.vocab - len(given))
        return [given.get(token, rest) for token in range(self.vocab)]


def test_without_a_penalty_the_search_ends_with_its_best_candidate():
    # "2" ends in step 2 as the best candidate, with 0.6 · 0.9; "3" (0.3) would go on for long.
    model = Scripted({(): {2: 0.6, 3: 0.3}, (2,): {EOS: 0.9}})
    found = find(model, sources(1), [30], beam=3, n_best=1, length_penalty=0.0)[0]
    assert found[0].ids == (2,)
    assert found[0].log_prob == pytest.approx(math.log(0.6 * 0.9))
    assert len(model.rows) == 2

    with_penalty = Scripted(model.after)
    find(with_penalty, sources(1), [30], beam=3, n_best=1, length_penalty=1.0)
    assert len(with_penalty.rows) > 2


def test_without_a_penalty_the_search_goes_on_until_n_best_have_ended():
    model = Scripted({(): {2: 0.6, 3: 0.3}, (2,): {EOS: 0.9}, (3,): {3: 0.9}, (3, 3): {EOS: 0.9}})
    found = find(model, sources(1), [30], beam=2, n_best=2, length_penalty=0.0)[0]
    assert [hypothesis.ids for hypothesis in found] == [(2,), (3, 3)]
    assert len(model.rows) == 3


def test_prefixes_are_ranked_without_regard_to_their_length_and_hypotheses_with():
    # Both end within the beam of two; "2" has the larger probability, "3 3 3" the larger one per token.
    model = Scripted({(): {2: 0.4, 3: 0.5}, (2,): {EOS: 0.9}, (3,): {3: 0.9}, (3, 3): {3: 0.9}, (3, 3, 3): {EOS: 0.7}})
    plain, normalised = (
        find(model, sources(1), [30], beam=2, n_best=1, length_penalty=alpha)[0][0].ids for alpha in (0.0, 1.0)
    )
    assert (plain, normalised) == ((2,), (3, 3, 3))


def test_the_place_of_what_ended_goes_to_the_next_that_goes_on():
    """Step 2 of a beam of two ranks 2 end (0.30), 2 4 (0.19), 3 end (0.16), 3 4 (0.15): the last stays."""
    model = Scripted({(): {2: 0.5, 3: 0.4}, (2,): {EOS: 0.6, 4: 0.38}, (3,): {EOS: 0.4, 4: 0.375}, (3, 4): {EOS: 0.99}})
    found = find(model, sources(1), [30], beam=2, n_best=2)[0]
    assert [hypothesis.ids for hypothesis in found] == [(2,), (3, 4)]


def test_an_empty_hypothesis_ranks_as_one_token():
    """0.6 in one token, 0.4 · 0.9 in two: log 0.6 = -0.51 and (log 0.36) / 2 = -0.51, a hair above."""
    model = Scripted({(): {EOS: 0.599, 2: 0.4}, (2,): {EOS: 0.9}})
    assert find(model, sources(1), [3], beam=2, length_penalty=0.0)[0][0].ids == ()
    found = find(model, sources(1), [3], beam=2, n_best=2, length_penalty=1.0)[0]
    assert [hypothesis.ids for hypothesis in found] == [(2,), ()]
    assert found[1].score == pytest.approx(math.log(0.599))


def test_ties_go_to_the_lower_index():
    """Step 1 ranks 0, 1 (the end), 2, 3, …; from 0, 2 and 3, step 2 ranks 0 0, 0 1 and 0 2."""
    found = find(Uniform(vocab=9), sources(2), [2, 2], beam=3, n_best=3, length_penalty=0.0)
    assert [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in found] == [[(), (0, 0), (0,)]] * 2


@pytest.mark.parametrize("count", [1, 3, 8, 12])
def test_top_stable_is_the_head_of_a_stable_sort(count):
    random = torch.Generator().manual_seed(count)
    for _ in range(50):
        values = torch.randint(0, 6, (3, 10), generator=random).double()
        values[values == 0] = -torch.inf
        top, index = top_stable(values, count)
        expected = values.sort(dim=1, descending=True, stable=True)
        assert torch.equal(top, expected.values[:, :count])
        exists = top != -torch.inf
        assert torch.equal(index[exists], expected.indices[:, :count][exists])


def test_the_first_step_has_one_row_a_sentence_and_the_others_at_most_a_beam():
    model = Explicit(1, vocab=8)
    find(model, sources(3), [6, 6, 6], beam=4)
    assert model.rows[:2] == [3, 12]
    assert all(rows % 4 == 0 for rows in model.rows[1:])


def test_done_sentences_leave_the_batch():
    model = Explicit(1, vocab=8, sharpness=0.1)  # nearly uniform: most hypotheses reach their limit
    find(model, sources(3), [2, 5, 9], beam=3)
    assert model.rows[0] == 3
    assert model.rows[-1] == 3
    assert len(model.rows) <= 9


def test_a_beam_wider_than_the_vocabulary_has_places_left_empty():
    found = find(Explicit(2, vocab=3), sources(2), [5, 2], beam=40, n_best=40)
    assert [len(hypotheses) for hypotheses in found] == [min(40, 1 + 2 + 4 + 8 + 16 + 32), 1 + 2 + 4]


def test_a_sentence_may_have_fewer_hypotheses_than_asked_for_when_there_are_no_more():
    found = find(Explicit(2, vocab=3), sources(1), [9], beam=5, n_best=5, banned=[0, 2])[0]
    assert [hypothesis.ids for hypothesis in found] == [()]
