"""Several models as one: the mean of what they say, whatever the search."""

import pytest
import torch
from tests.search.toys import BOS, EOS, Explicit, problem, replay, sources

from saccade.protocol import Decodes
from saccade.search.ensemble import Ensemble, log_mean
from saccade.search.search import search
from saccade.search.settings import SearchSettings

SETTINGS = [SearchSettings(beam=1), SearchSettings(beam=4, n_best=4), SearchSettings(beam=3, length_penalty=0.0)]


def find(model, memory, batch, settings):
    return search(problem(model, memory, [7] * batch), settings)


def members(count: int) -> list[Explicit]:
    return [Explicit(seed, vocab=6, sharpness=2.0) for seed in range(count)]


def test_it_keeps_the_protocol():
    assert isinstance(Ensemble(members(2)), Decodes)


@pytest.mark.parametrize("settings", SETTINGS)
def test_of_one_model_it_is_that_model(settings: SearchSettings):
    source = sources(5)
    assert find(Ensemble(members(1)), (source,), 5, settings) == find(*members(1), source, 5, settings)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("count", [2, 3])
def test_the_log_prob_is_that_of_the_mean_probabilities(count: int, settings: SearchSettings):
    """Members may read different sources; the loop below knows nothing of states."""
    models = members(count)
    read = [sources(5, seed=9 + at) for at in range(count)]
    for row, hypotheses in enumerate(find(Ensemble(models), tuple(read), 5, settings)):
        for each in hypotheses:
            tokens = each.ids + ((EOS,) if each.finished else ())
            said = [replay(model, own[row], tokens).log_probs for model, own in zip(models, read, strict=True)]
            expected = 0.0
            for place, token in enumerate(tokens):
                mean = sum(float(log_probs[place][token].exp()) for log_probs in said) / count
                expected += float(torch.tensor(mean, dtype=torch.float64).log())
            assert each.log_prob == pytest.approx(expected, abs=1e-12)


def test_greedy_search_takes_what_the_mean_likes_best():
    models, source = members(2), sources(6)
    for row, (best,) in enumerate(find(Ensemble(models), (source, source), 6, SearchSettings(beam=1))):
        prefix: list[int] = []
        while len(prefix) < 7 and EOS not in prefix:
            asked = torch.tensor([[BOS, *prefix]])
            mean = sum(model.log_probs(asked, source[row : row + 1])[0].exp() for model in models)
            prefix.append(int(mean.argmax()))
        assert best.ids == tuple(token for token in prefix if token != EOS)


def test_two_models_differ_from_each_alone():
    models, source = members(2), sources(20)
    together = find(Ensemble(models), (source, source), 20, SETTINGS[1])
    assert all(together != find(model, source, 20, SETTINGS[1]) for model in models)


def test_what_a_member_rules_out_is_only_half_as_likely():
    impossible = torch.tensor([[0.0, -torch.inf, -torch.inf]])
    halves = torch.log(torch.tensor([[0.5, 0.5, 0.0]]))
    assert log_mean([impossible, halves]).exp()[0].tolist() == pytest.approx([0.75, 0.25, 0.0])
