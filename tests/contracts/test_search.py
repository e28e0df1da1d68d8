"""What holds for every search, whatever the model: run on all methods, rules and constraints."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.toys import EOS, Explicit, problem, replay, sources

from saccade.search.beam import beam_search
from saccade.search.constraints import FREE, Constraints, contains
from saccade.search.greedy import greedy_search
from saccade.search.hypothesis import score
from saccade.search.search import search
from saccade.search.settings import SearchSettings

WIDTHS = (1, 2, 5)

models = st.builds(
    Explicit,
    seed=st.integers(0, 10**6),
    vocab=st.integers(3, 9),
    sharpness=st.sampled_from([0.3, 2.0, 6.0]),
)
OF_METHOD = {
    "beam": {"stopping": st.sampled_from(["ctranslate2", "exact"])},
    "diverse": {"stopping": st.sampled_from(["ctranslate2", "exact"]), "diversity": st.sampled_from([0.0, 0.5, 3.0])},
    "alternatives": {"stopping": st.sampled_from(["ctranslate2", "exact"])},
    "sampling": {
        "temperature": st.sampled_from([0.5, 1.0, 2.0]),
        "top_k": st.integers(0, 4),
        "top_p": st.sampled_from([0.4, 0.9, 1.0]),
        "seed": st.integers(1, 3),
    },
}


@st.composite
def settings_(draw, methods=tuple(OF_METHOD)):
    method, beam = draw(st.sampled_from(methods)), draw(st.integers(1, 6))
    asked = {name: draw(values) for name, values in OF_METHOD[method].items()}
    if method == "diverse":
        asked["groups"] = draw(st.sampled_from([None, *(g for g in range(1, beam + 1) if beam % g == 0)]))
    if draw(st.booleans()):
        asked |= {name: draw(st.integers(0, 3)) for name in ("min_length", "no_repeat_ngram", "max_repeats")}
    return SearchSettings(
        method=method,
        beam=beam,
        n_best=draw(st.integers(1, beam)),
        length_penalty=draw(st.sampled_from([0.0, 0.7, 1.0])),
        penalty=draw(st.sampled_from(["length", "gnmt"])),
        **asked,
    )


phrases = st.lists(st.sampled_from([0, 2]), min_size=1, max_size=2).map(tuple)
constraints_ = st.fixed_dictionaries(
    {
        "prefix": st.lists(st.sampled_from([0, 2]), max_size=3).map(tuple),
        "banned": st.lists(phrases, max_size=2).map(tuple),
        "required": st.lists(phrases, max_size=2).map(tuple),
    }
)
limits_ = st.lists(st.integers(1, 8), min_size=1, max_size=5)


def find(model, source, limits, settings, **asked):
    return search(problem(model, source, limits, **asked), settings)


def written(hypothesis):
    return hypothesis.ids + ((EOS,) if hypothesis.finished else ())


def constrained(data, settings, count):
    """Constraints for so many sentences that this search can keep, or none at all."""
    if data.draw(st.booleans()):
        return ()
    found = [Constraints(**data.draw(constraints_)) for _ in range(count)]
    return found if settings.method in ("beam", "alternatives") else [replace(each, required=()) for each in found]


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_, data=st.data())
def test_log_prob_is_the_models_own(model, settings, limits, data):
    source = sources(len(limits), model.seed)
    found = find(model, source, limits, settings, constraints=constrained(data, settings, len(limits)))
    for sentence, hypotheses in zip(source, found, strict=True):
        for hypothesis in hypotheses:
            again = replay(model, sentence, written(hypothesis))
            assert hypothesis.log_prob == pytest.approx(again.log_prob, abs=1e-12)
            assert hypothesis.score == score(hypothesis.log_prob, len(written(hypothesis)), settings)


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_)
def test_hypotheses_are_sorted_distinct_and_within_their_limits(model, settings, limits):
    found = find(model, sources(len(limits), model.seed), limits, settings)
    for limit, hypotheses in zip(limits, found, strict=True):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert 1 <= len(hypotheses) <= settings.n_best
        if settings.method in ("beam", "diverse"):
            assert scores == sorted(scores, reverse=True)
        if settings.method != "sampling":
            assert len({written(hypothesis) for hypothesis in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            assert EOS not in hypothesis.ids
            assert len(written(hypothesis)) <= limit
            assert hypothesis.finished or len(hypothesis.ids) == limit


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_, data=st.data())
def test_batch_company_and_order_change_nothing(model, settings, limits, data):
    source, names = sources(len(limits), model.seed), [f"sentence {at}" for at in range(len(limits))]
    constraints = constrained(data, settings, len(limits))
    together = find(model, source, limits, settings, constraints=constraints, names=names)

    def of(rows):
        held = [constraints[row] for row in rows] if constraints else ()
        chosen = [limits[row] for row in rows]
        return find(model, source[rows], chosen, settings, constraints=held, names=[names[row] for row in rows])

    order = data.draw(st.permutations(range(len(limits))))
    shuffled = of(order)
    for place, at in enumerate(order):
        assert together[at] == shuffled[place] == of([at])[0]


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_, data=st.data())
def test_the_first_of_many_is_the_only_one_of_one(model, settings, limits, data):
    """But for the rule of CTranslate2 without a penalty, by which a search for more goes on for longer."""
    if settings.length_penalty == 0 and settings.stopping == "ctranslate2":
        settings = replace(settings, length_penalty=0.7)
    source, constraints = sources(len(limits), model.seed), constrained(data, settings, len(limits))
    many = find(model, source, limits, settings, constraints=constraints)
    one = find(model, source, limits, replace(settings, n_best=1), constraints=constraints)
    assert [hypotheses[:1] for hypotheses in many] == one


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_, data=st.data())
def test_constraints_are_kept_or_told(model, settings, limits, data):
    constraints = constrained(data, settings, len(limits)) or [FREE] * len(limits)
    found = find(model, sources(len(limits), model.seed), limits, settings, constraints=constraints)
    for asked, limit, hypotheses in zip(constraints, limits, found, strict=True):
        start = len(asked.prefix)
        for hypothesis in hypotheses:
            ids = hypothesis.ids
            assert ids[:start] == asked.prefix
            for phrase in asked.banned:
                places = [at for at in range(len(ids)) if ids[at : at + len(phrase)] == phrase]
                assert all(at + len(phrase) <= start for at in places), "only what is forced may be banned"
            assert hypothesis.unmet == tuple(phrase for phrase in asked.required if not contains(ids, phrase))
        if settings.method != "alternatives":
            unmet = [len(hypothesis.unmet) for hypothesis in hypotheses]
            assert unmet == sorted(unmet)
        tokens = sum(map(len, asked.required))
        free = not (asked.banned or settings.no_repeat_ngram or settings.max_repeats)
        if free and settings.method == "beam" and start + tokens <= limit:
            assert hypotheses[0].unmet == (), "there was room"


@sometimes(max_examples=100)
@given(model=models, settings=settings_(), limits=limits_)
def test_rules_are_kept(model, settings, limits):
    found = find(model, sources(len(limits), model.seed), limits, settings)
    size, most = settings.no_repeat_ngram, settings.max_repeats
    for limit, hypotheses in zip(limits, found, strict=True):
        for ids in (hypothesis.ids for hypothesis in hypotheses):
            grams = [ids[at : at + size] for at in range(len(ids) - size + 1)] if size else []
            assert len(set(grams)) == len(grams)
            assert not most or not any(
                ids[at : at + period] * (most + 1) == ids[at : at + period * (most + 1)]
                for period in range(1, len(ids))
                for at in range(len(ids) - period * (most + 1) + 1)
            )
            if not size and not most:  # otherwise there may be nothing left but the end
                assert len(ids) >= min(settings.min_length, limit)


@sometimes(max_examples=100)
@given(model=models, limits=limits_, length_penalty=st.sampled_from([0.0, 1.0]))
def test_a_beam_of_one_is_greedy(model, limits, length_penalty):
    source = sources(len(limits), model.seed)
    settings = SearchSettings(beam=1, length_penalty=length_penalty)
    asked = problem(model, source, limits)
    assert beam_search(asked, settings) == greedy_search(asked, settings)


@pytest.mark.parametrize("beam", WIDTHS)
@pytest.mark.parametrize("banned", [[0], [0, 2, 3]])
def test_banned_ids_are_never_written(beam, banned):
    model = Explicit(5, vocab=7, sharpness=0.5)
    table = model.table.clone()
    found = find(model, sources(6), [7] * 6, SearchSettings(beam=beam, n_best=beam), banned=banned)
    assert {token for hypotheses in found for hypothesis in hypotheses for token in hypothesis.ids} <= {
        token for token in range(7) if token not in banned
    }
    assert torch.equal(model.table, table), "the model's own log-probabilities stay as they are"


@pytest.mark.parametrize("beam", WIDTHS)
def test_what_is_cut_off_at_its_limit_is_said_to_be_unfinished(beam):
    model = Explicit(5)
    model.table[..., EOS] = -40.0
    found = find(model, sources(3), [2, 4, 1], SearchSettings(beam=beam))
    assert [(len(best.ids), best.finished) for best, *_ in found] == [(2, False), (4, False), (1, False)]


@pytest.mark.parametrize("beam", WIDTHS)
def test_no_sentences_give_no_hypotheses(beam):
    assert find(Explicit(), sources(0), [], SearchSettings(beam=beam)) == []


@pytest.mark.parametrize("beam", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_log_probs_are_summed_in_single_precision_at_least(beam, dtype):
    model, source = Explicit(6, vocab=9, sharpness=0.3, dtype=dtype), sources(3)
    for sentence, (best, *_) in zip(source, find(model, source, [20] * 3, SearchSettings(beam=beam)), strict=True):
        again = replay(model, sentence, written(best))
        exact = sum(float(step[token]) for step, token in zip(again.log_probs, again.tokens, strict=True))
        assert best.log_prob == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("beam", WIDTHS)
def test_limits_of_zero_and_a_banned_end_are_mistakes_of_the_caller(beam):
    with pytest.raises(AssertionError, match="at least an end"):
        find(Explicit(), sources(2), [3, 0], SearchSettings(beam=beam))
    with pytest.raises(AssertionError, match="run to its limit"):
        find(Explicit(), sources(1), [3], SearchSettings(beam=beam), banned=[EOS])
