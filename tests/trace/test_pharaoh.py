"""Alignments as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.trace import pharaoh
from saccade.trace.pharaoh import Gold

numbers = st.integers(0, 300)


def test_sure_and_possible_links():
    sure, possible = pharaoh.read(["0-0 1p2 3-1", ""])
    assert sure == Gold(frozenset({(0, 0), (3, 1)}), frozenset({(0, 0), (3, 1), (1, 2)}))
    assert possible == Gold.of([])


def test_a_sure_link_is_possible():
    with pytest.raises(ValueError, match="Every sure link must be possible"):
        Gold(frozenset({(0, 0)}), frozenset())


@given(st.sets(st.tuples(numbers, numbers)))
def test_what_is_written_is_read(links: set):
    assert pharaoh.read([pharaoh.write(links)]) == [Gold.of(links)]


def test_flipped_turns_both_kinds():
    assert pharaoh.read(["0-1 2p3"])[0].flipped() == pharaoh.read(["1-0 3p2"])[0]


@pytest.mark.parametrize("part", ["0", "0-", "-1-2", "a-b", "0_1", "0-1-2", "٣-٤", "0--1"])
def test_anything_else_is_refused_with_file_and_line(part: str):
    with pytest.raises(DataError) as caught:
        pharaoh.read(["0-0", f"1-1 {part}"], origin="gold")
    assert str(caught.value) == (
        "gold, line 2: a link must be two numbers with - (sure) or p (possible) between them, such as 3-4 or 3p4, "
        f"but {part!r} is not. Give a file of lines in Pharaoh's format."
    )


def test_a_slip_is_left_out_and_told():
    lines = [*["0-0 1p1"] * 50, "0-0 7-1"]
    found, remarks = pharaoh.within(pharaoh.read(lines), [(2, 2)] * 51, origin="gold")
    assert found == pharaoh.read([*lines[:-1], "0-0"])
    assert remarks == [
        "gold, line 51: words are counted from 0, source first, but 7-1 is outside a pair "
        "of 2 source and 2 target words"
    ]


@pytest.mark.parametrize(
    ("lines", "others"), [(["0-0", "1p3"], ""), (["0-0", "1p3 9-9"], ", and so are 1 other links")]
)
def test_many_links_to_words_that_are_not_there_are_refused(lines: list[str], others: str):
    with pytest.raises(DataError) as caught:
        pharaoh.within(pharaoh.read(lines), [(1, 1), (4, 3)], origin="gold")
    assert str(caught.value) == (
        "gold, line 2: words are counted from 0, source first, but 1-3 is outside a pair of 4 source and 3 target "
        f"words{others}. If they have the target first, turn them (`--flip`); if they are counted from 1, subtract 1."
    )


def test_a_gold_of_another_length_is_refused():
    with pytest.raises(DataError) as caught:
        pharaoh.within(pharaoh.read(["0-0"]), [(1, 1), (4, 3)], origin="gold")
    assert str(caught.value) == (
        "gold has 1 lines, but there are 2 sentence pairs. "
        "Line n must hold the links of pair n; a pair without links is a blank line."
    )
