import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data.batch import collate
from saccade.data.loader import ahead, load
from saccade.data.sampler import Position, Sampler
from saccade.data.store import Ragged, StoreWriter, TokenStore


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "saccade loader"]


def test_the_same_items_in_order() -> None:
    assert list(ahead(iter(range(100)))) == list(range(100))
    assert _threads() == []


def test_not_further_ahead_than_asked() -> None:
    made: list[int] = []
    items = ahead((made.append(number) or number for number in count()), depth=3)  # type: ignore[func-returns-value]
    assert next(items) == 0
    time.sleep(0.1)
    assert made == [0, 1, 2, 3]
    assert next(items) == 1


def test_an_error_comes_where_it_happened() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="no more"):
        next(found)
    assert _threads() == []


@pytest.mark.parametrize("taken", [0, 1, 7])
def test_the_thread_ends_when_the_caller_stops(taken: int) -> None:
    items = ahead(count())
    list(islice(items, taken))
    del items
    assert _threads() == []


def test_batches_are_those_of_sampler_and_store(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sides = [[rng.integers(4, 99, rng.integers(1, 9)).tolist() for _ in range(50)] for _ in range(2)]
    with StoreWriter(tmp_path / "s", vocabulary=99, tokenizers=("s", "t"), corpora=("a",)) as writer:
        writer.write(Ragged.of(sides[0]), Ragged.of(sides[1]), 0, np.arange(50))
    store = TokenStore(tmp_path / "s")
    sampler = Sampler(store.lengths, max_tokens=40, seed=1)
    start = Position(epoch=2, batch=3)
    for loaded, (position, rows) in islice(zip(load(store, sampler, start), sampler.batches(start), strict=True), 40):
        assert loaded.position == position
        assert loaded.rows.tolist() == rows.tolist()
        expected = collate([sides[0][row] for row in rows], [sides[1][row] for row in rows])
        assert torch.equal(loaded.batch.source, expected.source)
        assert torch.equal(loaded.batch.target, expected.target)
