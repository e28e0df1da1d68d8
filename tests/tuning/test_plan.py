"""The plan suits memories of 300 to 300,000 pairs and models of all sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.models.settings import TransformerSettings
from saccade.tuning.plan import FEW_SENTENCES, TuningPlan, held_out_sizes, most_replayed, plan_tuning

SIZES = (300, 500, 1000, 3000, 5000, 10_000, 30_000, 100_000, 300_000)
D_MODELS = sorted(int(preset["d_model"]) for preset in TransformerSettings.PRESETS.values())


def plan(pairs: int, d_model: int = 512, **more: object) -> TuningPlan:
    valid, _ = held_out_sizes(pairs)
    return plan_tuning(pairs, 20 * pairs, d_model, valid=valid, **more)  # type: ignore[arg-type]


def test_held_out():
    assert [held_out_sizes(pairs) for pairs in (100, 300, 600, 5000, 28_000, 300_000)] == [
        (6, 14),
        (20, 40),
        (20, 40),
        (166, 334),
        (333, 667),
        (333, 667),
    ]


@given(st.integers(100, 1_000_000))
def test_most_of_a_memory_is_learned(pairs: int):
    valid, test = held_out_sizes(pairs)
    assert 1 <= valid <= test
    assert 20 <= valid + test <= min(1000, pairs / 5)


def test_more_pairs_need_fewer_epochs_and_more_work():
    plans = [plan(pairs) for pairs in SIZES]
    epochs, work = [each.epochs for each in plans], [each.updates * each.batch_tokens for each in plans]
    assert epochs == sorted(epochs, reverse=True)
    assert 8 <= epochs[0] <= 20
    assert 1 <= epochs[-1] <= 3
    assert work == sorted(work)
    assert plans[0].updates >= 50
    assert [each.batch_tokens for each in plans] == sorted(each.batch_tokens for each in plans)


@pytest.mark.parametrize("pairs", SIZES)
@pytest.mark.parametrize("replay", [0, 7, 1_000_000])
@pytest.mark.parametrize("lora", [False, True])
def test_it_can_be_followed(pairs: int, replay: int, lora: bool):
    found = plan(pairs, replay=min(replay, most_replayed(pairs)), lora=lora)
    assert 1 <= found.warmup <= found.updates / 10
    assert 8 <= found.updates / found.validate_every <= 20
    assert found.updates > found.patience * found.validate_every
    seen = found.updates * found.batch_tokens / (20 * pairs)
    assert seen == pytest.approx(found.epochs * (2 if replay else 1), rel=0.1)
    assert (found.replay_weight > 0) == bool(replay)
    assert 0 < found.start_share < 1 if not replay else found.start_share == 0


def test_small_models_are_tuned_at_higher_rates():
    """2e-5 to 5e-5 for a base model is what practitioners use."""
    rates = [plan(5000, d_model).learning_rate for d_model in D_MODELS]
    assert rates == sorted(rates, reverse=True)
    assert 2e-5 <= plan(5000, 512).learning_rate <= 5e-5
    assert plan(5000, lora=True).learning_rate > 5 * plan(5000).learning_rate


def test_replayed_pairs_count_as_much_as_the_memory():
    assert plan(5000, replay=50_000).replay_weight == 0.1
    assert plan(5000, replay=2500).replay_weight == 2
    assert plan(5000, replay=1).replay_weight == 1000, "the most that a corpus can weigh"


def test_few_held_out_sentences_are_judged_by_their_loss():
    for valid, best_by in ((FEW_SENTENCES - 1, "loss"), (FEW_SENTENCES, "quality")):
        assert plan_tuning(5000, 100_000, 512, valid=valid).best_by == best_by
