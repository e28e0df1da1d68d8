"""Padded tensors, by hand: 0 pads, 2 begins, 3 ends."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.batch import Batch, collate, collate_sources
from saccade.data.store import Ragged


def test_examples_side_by_side():
    batch = collate([[5, 6, 7], [8]], [[9], [4, 5]])
    assert batch.source.tolist() == [[5, 6, 7, 3], [8, 3, 0, 0]]
    assert batch.source_mask.tolist() == [[True, True, True, True], [True, True, False, False]]
    assert batch.prefix.tolist() == [[2, 9, 0], [2, 4, 5]]
    assert batch.target.tolist() == [[9, 3, 0], [4, 5, 3]]
    assert batch.target_mask.tolist() == [[True, True, False], [True, True, True]]


def test_sources_alone_are_those_of_the_batch():
    rows = [[5, 6, 7], [8], []]
    alone, batch = collate_sources(rows), collate(rows, [[4]] * 3)
    assert torch.equal(alone.source, batch.source)
    assert torch.equal(alone.source_mask, batch.source_mask)


def test_nothing_to_say_is_a_beginning_and_an_end():
    batch = collate([[]], [[]])
    assert batch.source.tolist() == [[3]]
    assert batch.prefix.tolist() == [[2]]
    assert batch.target.tolist() == [[3]]
    assert batch.target_mask.all()
    assert batch.source_mask.all()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int64])
def test_ids_come_from_a_store_or_from_a_tokenizer(dtype: type):
    stored = collate([np.array([5, 65000], dtype)], [np.array([4], dtype)])
    given = collate([[5, 65000]], [(4,)])
    assert stored.source.dtype == torch.int64
    assert torch.equal(stored.source, given.source)
    assert torch.equal(stored.target, given.target)


def test_a_padding_id_inside_a_text_is_no_padding():
    assert collate_sources([[0, 5], [5]]).source_mask.tolist() == [[True, True, True], [True, True, False]]


def test_a_batch_moves_as_a_batch():
    moved = collate([[5]], [[6]]).to(torch.device("meta"))
    assert isinstance(moved, Batch)
    assert {tensor.device.type for tensor in (moved.source, moved.prefix, moved.target_mask)} == {"meta"}


@pytest.mark.parametrize("number", [1, 2, 3, 5, 9])
def test_parts_hold_every_example_once_and_no_more_padding_than_they_need(number: int):
    rng = np.random.default_rng(number)
    sources, targets = ([rng.integers(4, 99, n).tolist() for n in rng.integers(1, 12, 5)] for _ in range(2))
    parts = collate(sources, targets).parts(number)
    assert len(parts) <= number
    bounds = np.cumsum([0, *(len(part.source) for part in parts)])
    assert bounds[-1] == 5
    for part, start, end in zip(parts, bounds[:-1], bounds[1:], strict=True):
        expected = collate(sources[start:end], targets[start:end])
        assert all(torch.equal(getattr(part, field.name), getattr(expected, field.name)) for field in fields(part))


def test_parts_hold_about_as_many_tokens_where_lengths_rise():
    rows = [[4] * length for length in range(5, 45)]
    parts = collate(rows, rows).parts(2)
    first, second = (int(part.source_mask.sum() + part.target_mask.sum()) for part in parts)
    assert abs(first - second) <= 4 * 45, "no more than an example or two"


def _plain(sources: list[list[int]], targets: list[list[int]]) -> list[list[list[int]]]:
    """Source, prefix and target, padded one by one: the twin."""

    def padded(rows: list[list[int]]) -> list[list[int]]:
        longest = max(map(len, rows))
        return [row + [0] * (longest - len(row)) for row in rows]

    return [padded([[*r, 3] for r in sources]), padded([[2, *r] for r in targets]), padded([[*r, 3] for r in targets])]


rows = st.lists(st.integers(0, 99), max_size=6)


@given(pairs=st.lists(st.tuples(rows, rows), min_size=1, max_size=6))
def test_all_at_once_is_one_by_one(pairs: list[tuple[list[int], list[int]]]):
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    flat = collate(Ragged.of(sources, np.uint16), Ragged.of(targets, np.uint16))
    for batch in (flat, collate(sources, targets)):
        assert [side.tolist() for side in (batch.source, batch.prefix, batch.target)] == _plain(sources, targets)
        assert batch.source_mask.sum(1).tolist() == [len(row) + 1 for row in sources]
        assert batch.target_mask.sum(1).tolist() == [len(row) + 1 for row in targets]
