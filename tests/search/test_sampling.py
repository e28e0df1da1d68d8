"""What is drawn, how often, and by whose chance."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.sampling import nucleus, sample
from saccade.search.settings import SearchSettings


def draw(model, source, limit, names, banned=(), **settings):
    asked = problem(model, source, [limit] * len(source), names=names, banned=banned)
    return sample(asked, SearchSettings(method="sampling", **settings))


def plain_nucleus(log_probs, temperature, top_k, top_p):
    """One row, in lists."""
    warm = [math.exp(log_prob / temperature) for log_prob in log_probs]
    likely = sorted(range(len(warm)), key=lambda token: -warm[token])[: top_k or len(warm)]
    total = sum(warm[token] for token in likely)
    kept, reached = {}, 0.0
    for token in likely:
        if reached < top_p:
            kept[token] = warm[token] / total
        reached += warm[token] / total
    return {token: probability / sum(kept.values()) for token, probability in kept.items()}


@sometimes(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.3, 1.0, 4.0]),
    top_k=st.integers(0, 9),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
def test_what_is_drawn_from(seed, temperature, top_k, top_p):
    log_probs = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed)).double().log_softmax(-1)
    settings = SearchSettings(method="sampling", temperature=temperature, top_k=top_k, top_p=top_p)
    probabilities, tokens = nucleus(log_probs, settings)
    for row, several, those in zip(log_probs.tolist(), probabilities.tolist(), tokens.tolist(), strict=True):
        found = {token: probability for token, probability in zip(those, several, strict=True) if probability > 0}
        assert found == pytest.approx(plain_nucleus(row, temperature, top_k, top_p))


def chi_squared(counts, probabilities):
    total = sum(counts.values())
    return sum((counts.get(key, 0) - total * p) ** 2 / (total * p) for key, p in probabilities.items())


@pytest.mark.parametrize("asked", [{}, {"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.7, "temperature": 1.5}])
def test_whole_hypotheses_come_as_often_as_the_model_says(asked):
    """Of 4,000 draws of up to two tokens: χ² of at most 13 outcomes stays below 40, which chance passes once in 10⁴."""
    model, source = Explicit(3, vocab=4, sharpness=1.0), sources(1)
    settings = SearchSettings(method="sampling", **asked)
    drawn = draw(model, source, 2, ["a"], n_best=4000, **asked)[0]
    counts: dict[tuple[int, ...], int] = {}
    for hypothesis in drawn:
        tokens = hypothesis.ids + ((EOS,) if hypothesis.finished else ())
        counts[tokens] = counts.get(tokens, 0) + 1

    def after(prefix):
        log_probs = replay(model, source[0], (*prefix, EOS)).log_probs[-1].tolist()
        return plain_nucleus(log_probs, settings.temperature, settings.top_k, settings.top_p)

    expected = {}
    for first, one in after(()).items():
        if first == EOS:
            expected[EOS,] = one
        else:
            expected |= {(first, second): one * two for second, two in after((first,)).items()}
    assert set(counts) <= set(expected)
    assert chi_squared(counts, expected) < 40
    assert chi_squared(counts, dict.fromkeys(expected, 1 / len(expected))) > 40, "the bound can be passed"


def test_draws_differ_by_seed_and_name_and_by_nothing_else():
    model, source = Explicit(3, vocab=9, sharpness=0.3), sources(1).repeat(3, 1)
    first, second, third = draw(model, source, 12, ["a", "b", "a"], n_best=3)
    assert first == third
    assert first != second
    assert len({hypothesis.ids for hypothesis in first}) > 1
    assert draw(model, source[:1], 12, ["a"], n_best=3) == [first]
    assert draw(model, source[:1], 12, ["a"], n_best=3, seed=2) != [first]


def test_nearly_no_temperature_is_greedy():
    model, source = Explicit(3, vocab=9), sources(2)
    for sentence, (hypothesis,) in zip(source, draw(model, source, 9, ["a", "b"], temperature=1e-3), strict=True):
        tokens = hypothesis.ids + ((EOS,) if hypothesis.finished else ())
        assert [int(step.argmax()) for step in replay(model, sentence, tokens).log_probs] == list(tokens)


def test_what_is_banned_is_never_drawn():
    drawn = draw(Explicit(3, sharpness=0.1), sources(2), 9, ["a", "b"], banned=[0, 2], n_best=50)
    assert {token for several in drawn for each in several for token in each.ids} == {3}
