"""What holds for every model that decodes holds for several together, of whatever kinds, to rounding in float64."""

from itertools import chain

import pytest
import torch
from tests.contracts.models import SOURCES, TARGETS, taught_model, whole_batch

from saccade.data.batch import collate
from saccade.engines.torch import TorchEngine
from saccade.models.ensemble import EnsembleModel
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import EOS

EXACT = {"rtol": 0.0, "atol": 1e-10}
SHIFTED = [4, 5, 6, 7, 8, 9, 10]


def reader(ids: list[int]) -> list[int]:
    """Another vocabulary for the same texts: other ids, and a piece more before each."""
    return [other for id in ids for other in (4, SHIFTED[id - 5])]


ENSEMBLES = {
    "one": (["bahdanau"], [None]),
    "two Transformers": (["transformer, pre-norm", "transformer, gelu"], [None, None]),
    "three kinds": (["transformer, post-norm", "bahdanau, LSTM", "convolutional"], [None, None, None]),
    "other source vocabularies": (["luong, dot", "transformer, pre-norm", "fixed vector"], [None, reader, reader]),
}


@pytest.fixture(params=ENSEMBLES)
def model(request: pytest.FixtureRequest) -> EnsembleModel:
    names, readers = ENSEMBLES[request.param]
    return EnsembleModel([taught_model(name) for name in names], readers).eval()


def stepped(model: EnsembleModel, batch) -> torch.Tensor:
    state, said = model.start(model.encode(batch)), []
    for last in batch.prefix.T:
        log_probs, state = model.step(last, state)
        said.append(log_probs)
    return torch.stack(said, dim=1)


def test_stepping_equals_teacher_forcing(model: EnsembleModel):
    batch = whole_batch()
    expected = model.logits(model(batch))
    torch.testing.assert_close(stepped(model, batch)[batch.target_mask], expected[batch.target_mask], **EXACT)
    torch.testing.assert_close(expected.exp().sum(dim=-1), torch.ones(batch.prefix.shape, dtype=torch.float64), **EXACT)


def test_it_says_the_mean_of_what_its_members_say_alone(model: EnsembleModel):
    found = model(whole_batch()).exp()
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        said = []
        for member, read in zip(model.members, model._readers, strict=True):
            batch = collate([source if read is None else read(source)], [target])
            said.append(member.logits(member(batch))[0].softmax(dim=-1))
        torch.testing.assert_close(found[row, : len(target) + 1], sum(said) / len(said), **EXACT)


def test_padding_and_company_change_nothing(model: EnsembleModel):
    padded = model(whole_batch())
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(collate([source], [target]))[0]
        torch.testing.assert_close(padded[row, : len(alone)], alone, **EXACT)


def test_pick_reorders_repeats_and_drops_rows(model: EnsembleModel):
    batch = whole_batch()
    _, state = model.step(batch.prefix[:, 0], model.start(model.encode(batch)))
    rows, last = torch.tensor([2, 0, 0, 4]), torch.tensor([5, 6, 4, 7, 9])
    whole, _ = model.step(last, state)
    picked, _ = model.step(last[rows], model.pick(state, rows))
    torch.testing.assert_close(picked, whole[rows], **EXACT)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_score_of_a_search_is_its_own(model: EnsembleModel, beam: int):
    engine = TorchEngine(model)
    found = engine.translate(SOURCES, SearchSettings(beam=beam, n_best=beam))
    pairs = [(source, each) for source, several in zip(SOURCES, found, strict=True) for each in several]
    pairs = [(source, each) for source, each in pairs if each.finished]
    assert len(pairs) > len(SOURCES) * beam / 2
    own = engine.score([source for source, _ in pairs], [each.ids for _, each in pairs])
    assert [each.log_prob for _, each in pairs] == pytest.approx(own, abs=1e-10)


def test_a_score_is_the_sum_of_the_log_probabilities(model: EnsembleModel):
    for row, score in enumerate(TorchEngine(model).score(SOURCES, TARGETS)):
        said = model(collate([SOURCES[row]], [TARGETS[row]]))[0]
        by_hand = sum(said[place, id].item() for place, id in enumerate([*TARGETS[row], EOS]))
        assert score == pytest.approx(by_hand, abs=1e-10)


def test_of_one_model_it_is_that_model():
    alone = taught_model("bahdanau")
    settings = SearchSettings(beam=4, n_best=4)
    found = TorchEngine(EnsembleModel([alone], [None])).translate(SOURCES, settings)
    assert found == TorchEngine(alone).translate(SOURCES, settings)


def test_members_stay_in_evaluation_mode():
    """A new ensemble is in training mode itself, and translating must not carry that over to its members."""
    members = [taught_model(name) for name in ENSEMBLES["two Transformers"][0]]
    TorchEngine(EnsembleModel(members, [None, None])).translate(SOURCES, SearchSettings())
    assert not any(module.training for member in members for module in member.modules())


def test_the_order_of_members_changes_nothing():
    models = [taught_model(name) for name in ENSEMBLES["three kinds"][0]]
    settings = SearchSettings(beam=4, n_best=4)
    found, other = (
        TorchEngine(EnsembleModel(each, [None] * 3)).translate(SOURCES, settings) for each in (models, models[::-1])
    )
    for one, two in zip(chain(*found), chain(*other), strict=True):
        assert one.ids == two.ids
        assert one.log_prob == pytest.approx(two.log_prob, abs=1e-10)
