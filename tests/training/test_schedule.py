"""The learning rate against values of eq. 3 of Vaswani et al. 2017, derived by hand."""

import pytest

from saccade.training.schedule import decay_start, inverse_sqrt, linear, paper_rate, trapezoidal


@pytest.mark.parametrize(
    ("update", "expected"),
    [(1, 1.7469e-7), (2000, 3.4939e-4), (4000, 6.9877e-4), (16000, 3.4939e-4), (100000, 1.3975e-4)],
)
def test_the_papers_rates(update: int, expected: float):
    """d = 512, warm-up 4000: lrate = d^-0.5 · min(step^-0.5, step · 4000^-1.5).

    512^-0.5 = 1/22.627 = 0.0441942; 4000^-0.5 = 1/63.246 = 0.0158114; 4000^-1.5 = 3.95285e-6.
        1        0.0441942 · 3.95285e-6          = 1.7469e-7
        2000     half the way up                 = 3.4939e-4
        4000     0.0441942 · 0.0158114           = 6.9877e-4, the highest
        16000    four times as far, half as high = 3.4939e-4
        100000   0.0441942 / 316.228             = 1.3975e-4
    """
    found = inverse_sqrt(update, highest=paper_rate(512, 4000), warmup=4000)
    assert found == pytest.approx(expected, rel=1e-4)
    assert found == pytest.approx(512**-0.5 * min(update**-0.5, update * 4000**-1.5), rel=1e-12)


def test_it_rises_to_the_given_highest_rate_and_falls_from_there():
    rates = [inverse_sqrt(update, highest=0.3, warmup=10) for update in range(1, 41)]
    assert rates[:10] == pytest.approx([0.03 * update for update in range(1, 11)])
    assert max(rates) == rates[9] == 0.3
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[39] == pytest.approx(0.15)


def test_a_warm_up_of_one_starts_at_the_highest_rate():
    assert inverse_sqrt(1, highest=0.3, warmup=1) == 0.3


def test_in_a_line_up_and_down_again():
    """Highest 0.4, warm-up 4, 8 updates: four steps up to 0.4, then 4/5, 3/5, 2/5, 1/5 of it; zero would come next."""
    rates = [linear(update, highest=0.4, warmup=4, updates=8) for update in range(1, 10)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.32, 0.24, 0.16, 0.08, 0.0])


def test_level_until_the_last_fifth():
    """Highest 0.4, warm-up 2, 20 updates: the last four have 4/4, 3/4, 2/4 and 1/4 of it; zero would come next."""
    rates = [trapezoidal(update, highest=0.4, warmup=2, updates=20) for update in range(1, 23)]
    assert rates == pytest.approx([0.2, *[0.4] * 16, 0.3, 0.2, 0.1, 0.0, 0.0])
    longer = [trapezoidal(update, highest=0.4, warmup=2, updates=40) for update in range(1, 1 + decay_start(20))]
    assert longer == rates[: decay_start(20)]
    assert rates[decay_start(20)] < 0.4
