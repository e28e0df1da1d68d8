"""The loss of captions: coverage by hand, and what chance adds."""

import pytest
import torch

from saccade.tasks.captioning.batch import collate_captions
from saccade.tasks.captioning.loss import CaptionLoss, uncovered
from saccade.tasks.captioning.model import captioner
from saccade.tasks.captioning.settings import CaptionerSettings
from saccade.training.learner import Learner


def learner(**changes: object) -> Learner:
    torch.manual_seed(1)
    settings = CaptionerSettings(**{"d_model": 8, "dropout": 0.0} | changes)  # type: ignore[arg-type]
    return Learner(captioner(settings, 9, 4), loss := CaptionLoss(), loss.baseline)


BATCH = collate_captions(torch.rand(2, 2, 2, 4), [[4, 5], [6], [7, 8, 4]], [0, 1, 1])


def test_coverage_by_hand():
    """Cells looked at 0.5 + 0.3 and 0.5 + 0.7: 0.2² + 0.2² = 0.08. With the second step padded: 0.5² + 0.5² = 0.5."""
    weights = torch.tensor([[[0.5, 0.5], [0.3, 0.7]]]).expand(2, 2, 2)
    mask = torch.tensor([[True, True], [True, False]])
    assert uncovered(weights[:1], mask[:1]).item() == pytest.approx(0.08)
    assert uncovered(weights[1:], mask[1:]).item() == pytest.approx(0.5)
    assert uncovered(weights, mask).item() == pytest.approx(0.58)


def test_the_penalty_is_added_and_not_reported():
    without, reported = learner(coverage=0.0)(BATCH)
    assert without.item() == pytest.approx(reported.item())
    penalised, again = learner(coverage=0.7)(BATCH)
    assert again.item() == pytest.approx(reported.item())
    model = learner().model
    expected = uncovered(model.learn(BATCH).weights, BATCH.target_mask).item()
    assert penalised.item() - again.item() == pytest.approx(0.7 * expected, rel=1e-4)


@pytest.mark.parametrize("changes", [{"attention": "mean"}, {"decoder": "transformer"}])
def test_where_nothing_is_looked_at_by_the_lstm_there_is_no_penalty(changes: dict[str, object]):
    wanted, reported = learner(coverage=5.0, **changes)(BATCH)
    assert wanted.item() == pytest.approx(reported.item())


def test_only_hard_attention_has_a_baseline():
    soft, hard = learner(), learner(attention="hard", sampling=1.0)
    soft(BATCH), hard.train()(BATCH)
    assert soft.baseline.value is None
    first = hard.baseline.value
    assert first is not None
    assert first < 0
    hard(BATCH)
    assert hard.baseline.value != first


def test_without_the_baseline_rewards_stand_for_themselves():
    """Advantages of rewards far from zero are far from zero: so are the gradients of the score."""
    norms = {}
    for uses in (True, False):
        own = learner(attention="hard", sampling=1.0, coverage=0.0, reward=1.0, entropy=0.0).train()
        own.loss.uses_baseline = uses
        own.baseline.value = -6.0
        torch.manual_seed(5)
        own(BATCH)[0].backward()
        norms[uses] = own.model.decoder.cross_attention.score.v.grad.norm().item()
    assert norms[True] < norms[False]
