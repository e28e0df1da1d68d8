"""Each rule against a plain loop over every token that could come next."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.toys import BOS, EOS, Explicit, problem, sources

from saccade.search.constraints import Constraints, contains
from saccade.search.rules import Prefixes, Ruled, apply_rules, at_least, no_end_before, no_loop, no_repeat, without
from saccade.search.settings import SearchSettings

VOCAB = 4
prefixes_ = st.integers(0, 9).flatmap(
    lambda length: st.lists(st.lists(st.integers(0, VOCAB - 1), min_size=length, max_size=length), min_size=1)
)


def left(rule, prefixes):
    """The tokens that each row may go on with."""
    log_probs = torch.zeros(len(prefixes), VOCAB)
    tokens = torch.tensor(prefixes, dtype=torch.long).view(len(prefixes), -1)
    rule(Prefixes(torch.arange(len(prefixes)), tokens), log_probs)
    assert set(log_probs.flatten().tolist()) <= {0.0, -torch.inf}
    return [{token for token in range(VOCAB) if row[token] == 0} for row in log_probs.tolist()]


def allowed(prefixes, keeps):
    """The same by trying every one of them."""
    return [{token for token in range(VOCAB) if keeps([*prefix, token])} for prefix in prefixes]


@sometimes(max_examples=100)
@given(prefixes=prefixes_, size=st.integers(1, 4))
def test_no_repeat(prefixes, size):
    def new(tokens):
        *before, last = [tokens[at : at + size] for at in range(len(tokens) - size + 1)] or [[]]
        return last not in before

    assert left(partial(no_repeat, size), prefixes) == allowed(prefixes, new)


@sometimes(max_examples=100)
@given(prefixes=prefixes_, most=st.integers(1, 3))
def test_no_loop(prefixes, most):
    def ends_otherwise(tokens):
        times = most + 1
        lengths = range(1, len(tokens) // times + 1)
        return not any(tokens[-length:] * times == tokens[-length * times :] for length in lengths)

    assert left(partial(no_loop, most), prefixes) == allowed(prefixes, ends_otherwise)


@sometimes(max_examples=100)
@given(prefixes=prefixes_, phrase=st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=3).map(tuple))
def test_without(prefixes, phrase):
    expected = allowed(prefixes, lambda tokens: tuple(tokens[-len(phrase) :]) != phrase)
    assert left(partial(without, [[phrase]] * len(prefixes)), prefixes) == expected


@sometimes(max_examples=50)
@given(prefixes=prefixes_, length=st.integers(0, 9))
def test_at_least(prefixes, length):
    expected = allowed(prefixes, lambda tokens: tokens[-1] != EOS or len(tokens) > length)
    assert left(partial(at_least, length, EOS), prefixes) == expected


@sometimes(max_examples=50)
@given(prefixes=prefixes_, phrase=st.lists(st.sampled_from([0, 2, 3]), min_size=1, max_size=2).map(tuple))
def test_no_end_before(prefixes, phrase):
    expected = allowed(prefixes, lambda tokens: tokens[-1] != EOS or contains(tokens, phrase))
    assert left(partial(no_end_before, [[phrase]] * len(prefixes), EOS), prefixes) == expected


def test_without_rules_the_problem_stays_as_it_is():
    free = problem(Explicit(), sources(1), [9], banned=[0], constraints=[Constraints()])
    assert apply_rules(free, SearchSettings()) is free


@pytest.fixture
def strict():
    """A model that may write nothing, neither a token nor the end."""
    constraints = [Constraints(), Constraints(prefix=(2, 2))]
    asked = problem(Explicit(), sources(2), [9, 9], banned=[0, 2, 3], constraints=constraints)
    return Ruled(asked, [partial(at_least, 9, EOS), partial(no_repeat, 1)])


def test_what_nothing_may_follow_ends_and_what_is_forced_overrules_all(strict):
    source, plain = sources(2), Explicit()
    said, _ = plain.step(torch.tensor([BOS, BOS]), plain.start(source))
    kept, _ = strict.step(torch.tensor([BOS, BOS]), strict.start(source))
    expected = torch.full_like(said, -torch.inf)
    expected[0, EOS], expected[1, 2] = said[0, EOS], said[1, 2]
    assert torch.equal(kept, expected)


def test_rows_that_were_picked_keep_their_sentence_and_their_tokens(strict):
    state = strict.start(sources(2))
    _, state = strict.step(torch.tensor([BOS, BOS]), state)
    state = strict.pick(state, torch.tensor([1]))
    kept, state = strict.step(torch.tensor([2]), state)
    assert kept.isfinite().tolist() == [[False, False, True, False]], "the second token of the second sentence's prefix"
    kept, _ = strict.step(torch.tensor([2]), state)
    assert kept.isfinite().tolist() == [[False, True, False, False]]
