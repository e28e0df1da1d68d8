"""What holds for every search, whatever the model: run on greedy search and on beams of several widths."""

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st
from tests.search.toys import BOS, EOS, Explicit, replay, sources

from saccade.search.beam import beam_search
from saccade.search.greedy import greedy
from saccade.search.search import search
from saccade.search.settings import SearchSettings

WIDTHS = (1, 2, 5)

models = st.builds(
    Explicit,
    seed=st.integers(0, 10**6),
    vocab=st.integers(3, 9),
    sharpness=st.sampled_from([0.3, 2.0, 6.0]),
)
settings_ = st.integers(1, 6).flatmap(
    lambda beam: st.builds(
        SearchSettings,
        beam=st.just(beam),
        n_best=st.integers(1, beam),
        length_penalty=st.sampled_from([0.0, 0.7, 1.0]),
        penalty=st.sampled_from(["length", "gnmt"]),
    )
)
limits_ = st.lists(st.integers(1, 8), min_size=1, max_size=5)


def find(model, source, limits, settings, **asked):
    limits = torch.tensor(limits, dtype=torch.long)
    return search(model, source, limits=limits, bos=BOS, eos=EOS, settings=settings, **asked)


def written(hypothesis):
    return hypothesis.ids + ((EOS,) if hypothesis.finished else ())


@sometimes(max_examples=150)
@given(model=models, settings=settings_, limits=limits_)
def test_log_prob_is_the_models_own(model, settings, limits):
    source = sources(len(limits), model.seed)
    found = find(model, source, limits, settings)
    for sentence, hypotheses in zip(source, found, strict=True):
        for hypothesis in hypotheses:
            again = replay(model, sentence, written(hypothesis))
            assert hypothesis.log_prob == pytest.approx(again.log_prob, abs=1e-12)


@sometimes(max_examples=150)
@given(model=models, settings=settings_, limits=limits_)
def test_hypotheses_are_sorted_distinct_and_within_their_limits(model, settings, limits):
    found = find(model, sources(len(limits), model.seed), limits, settings)
    for limit, hypotheses in zip(limits, found, strict=True):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert 1 <= len(hypotheses) <= settings.n_best
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.ids for hypothesis in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            assert EOS not in hypothesis.ids
            assert len(written(hypothesis)) <= limit
            assert hypothesis.finished or len(hypothesis.ids) == limit


@sometimes(max_examples=100)
@given(model=models, settings=settings_, limits=limits_, data=st.data())
def test_batch_company_and_order_change_nothing(model, settings, limits, data):
    source = sources(len(limits), model.seed)
    together = find(model, source, limits, settings)
    order = data.draw(st.permutations(range(len(limits))))
    shuffled = find(model, source[order], [limits[at] for at in order], settings)
    for place, at in enumerate(order):
        alone = find(model, source[at : at + 1], limits[at : at + 1], settings)[0]
        assert together[at] == shuffled[place] == alone


@sometimes(max_examples=100)
@given(model=models, limits=limits_, length_penalty=st.sampled_from([0.0, 1.0]))
def test_a_beam_of_one_is_greedy(model, limits, length_penalty):
    source = sources(len(limits), model.seed)
    settings = SearchSettings(beam=1, length_penalty=length_penalty)
    given = {"limits": torch.tensor(limits), "bos": BOS, "eos": EOS, "settings": settings}
    assert beam_search(model, source, **given) == greedy(model, source, **given)


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
