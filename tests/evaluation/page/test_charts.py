"""Plots show the numbers they are given, in their place."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.evaluation.page.charts import (
    LEFT,
    RIGHT,
    WIDTH,
    Bar,
    Bars,
    bar_chart,
    histogram,
    nice_ticks,
    scatter,
    strip,
)


@given(st.floats(-1000, 1000), st.floats(0.01, 5000))
def test_ticks_reach_over_all(low, span):
    ticks = nice_ticks(low, low + span)
    assert ticks[0] <= low + 1e-6 * span
    assert ticks[-1] >= low + span - 1e-6 * span
    assert 2 <= len(ticks) <= 9
    steps = {round(b - a, 6) for a, b in pairwise(ticks)}
    assert max(steps) - min(steps) < 1e-5


def test_ticks_by_hand():
    assert nice_ticks(0, 53.9) == [0, 10, 20, 30, 40, 50, 60]
    assert nice_ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert nice_ticks(0, 0)[0] == 0


def test_a_bar_is_as_long_as_its_score():
    bars = [Bar(0, 20, 10, 30, "a"), Bar(1, 40, 30, 60, "b")]
    picture = bar_chart([Bars("x", 30, bars)], "title")
    widths = [float(width) for width in re.findall(r'<rect x="92" y="[\d.]+" width="([\d.]+)" height="9"', picture)]
    whole = WIDTH - LEFT - RIGHT
    assert widths == pytest.approx([whole * 20 / 60, whole * 40 / 60], abs=0.1)
    ends = re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="\2" class="whisker">', picture)
    assert [(float(a), float(b)) for a, _, b in ends] == [
        pytest.approx((LEFT + whole * low / 60, LEFT + whole * high / 60), abs=0.1)
        for low, high in ((10, 30), (30, 60))
    ]
    assert 'class="few"' not in picture
    assert 'class="few"' in bar_chart([Bars("x", 29, bars)], "title")


def test_every_value_is_in_the_histogram_once():
    values = [-100, -7.5, -5, -0.1, 0.1, 4.9, 5, 100]
    picture = histogram(values, "Δ chrF2", above=2, around_zero=True)
    counts = [int(count) for count in re.findall(r"<title>-?\d+ … -?\d+: (\d+)</title>", picture)]
    assert sum(counts) == len(values)
    assert picture.count('class="bar s0"') == 3, "-100 … -95, -10 … -5, -5 … 0"
    assert picture.count('class="bar s2"') == 3
    assert "<title>-5 … 0: 2</title>" in picture


def test_dots_stay_inside_the_frame():
    picture = scatter([[(0, 0.0), (7, 100.0)], [(3, 50.0)]], "title")
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="2.2" class="point (s\d)"', picture)
    assert [colour for *_, colour in places] == ["s0", "s0", "s1"]
    assert [float(y) for _, y, _ in places] == [230, 24, 127]
    assert all(30 <= float(x) <= WIDTH for x, *_ in places)


def test_a_strip_is_between_its_ends():
    picture = strip(Bar(0, 5, 0, 10, "hint <"), 0, 10)
    assert '<circle cx="80" ' in picture
    assert '<line x1="6" y1="8" x2="154" y2="8" class="interval s0">' in picture
    assert "<title>hint &lt;</title>" in picture
