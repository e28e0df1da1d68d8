"""Sinusoids against the paper's formula, worked out by hand."""

import math

import pytest
import torch

from saccade.nn.positions import Positions, sinusoids


def test_sinusoids_by_hand():
    """With d = 4 the two frequencies are 10000^(-0/4) = 1 and 10000^(-2/4) = 1/100."""
    expected = [
        [math.sin(position), math.sin(position / 100), math.cos(position), math.cos(position / 100)]
        for position in range(8)
    ]
    torch.testing.assert_close(sinusoids(8, 4), torch.tensor(expected), rtol=0.0, atol=1e-7)


def test_marians_by_hand():
    """With d = 6 the three frequencies are 1, 10000^(-1/2) = 1/100 and 1/10000."""
    rates = [1.0, 1 / 100, 1 / 10000]
    expected = [[wave(position * rate) for wave in (math.sin, math.cos) for rate in rates] for position in range(8)]
    torch.testing.assert_close(sinusoids(8, 6, "marian"), torch.tensor(expected), rtol=0.0, atol=1e-7)
    states = torch.zeros(1, 8, 6)
    assert torch.equal(Positions(6, "marian", num_cached=3)(states)[0], sinusoids(8, 6, "marian"))


def test_they_are_the_papers_in_another_order():
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i + 1) = cos of the same: ours are i and d/2 + i."""
    d_model, table = 16, sinusoids(700, 16)
    for position in (0, 1, 17, 699):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            assert table[position, i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, d_model // 2 + i].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("start", [0, 2, 5, 30])
def test_sequences_may_be_longer_than_the_table(start: int):
    states = torch.randn(2, 9, 6, dtype=torch.float64)
    short, long = (Positions(6, num_cached=size).double() for size in (5, 100))
    assert torch.equal(short(states, start), long(states, start))
    torch.testing.assert_close(long(states, start) - states, long.table[start : start + 9].expand(2, 9, 6))


def test_positions_are_not_saved():
    assert not Positions(6).state_dict()


def test_the_kind_of_number_stays():
    assert Positions(6)(torch.zeros(1, 2, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16
