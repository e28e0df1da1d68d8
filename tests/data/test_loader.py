import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.batch import collate
from saccade.data.loader import Loaded, Resampling, ahead, load
from saccade.data.sampler import Position, Sampler
from saccade.data.store import Ragged, TokenStore, write_store
from saccade.text.tokenizer import UNK, Tokenizer, Tokenizers, TokenizerSettings


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


LINES = ["the dog runs through the long grass", "a cat sleeps on the warm roof", "dogs and cats are running about"]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizers(request: pytest.FixtureRequest) -> Tokenizers:
    wanted = TokenizerSettings(kind=request.param, vocabulary=60, byte_fallback=False)
    learned = Tokenizer.learn(LINES, wanted, seed=1)
    return Tokenizers(learned, learned)


@pytest.fixture
def store(tokenizers: Tokenizers, tmp_path: Path) -> TokenStore:
    texts = tokenizers.source.encode_many(f"{LINES[number % 3]} {LINES[number % 2]}" for number in range(50))
    texts[7][2] = UNK
    part = Ragged.of(texts), Ragged.of(texts[::-1]), 0, np.arange(50)
    write_store(tmp_path / "s", [part], vocabulary=99, tokenizers=("s", "t"), corpora=("a",))
    return TokenStore(tmp_path / "s")


def _taken(batches: Iterator[Loaded], number: int) -> list[tuple[Position, list[int], Any, Any]]:
    return [
        (loaded.position, loaded.rows.tolist(), loaded.batch.source.tolist(), loaded.batch.target.tolist())
        for loaded in islice(batches, number)
    ]


def test_batches_are_those_of_sampler_and_store(store: TokenStore, tokenizers: Tokenizers) -> None:
    sampler = Sampler(store.lengths, max_tokens=80, seed=1)
    start = Position(epoch=2, batch=3)
    expected = []
    for position, rows in islice(sampler.batches(start), 40):
        batch = collate(*zip(*(store[row] for row in rows.tolist()), strict=True))
        expected.append((position, rows.tolist(), batch.source.tolist(), batch.target.tolist()))
    assert _taken(load(store, sampler, start, Resampling(tokenizers, 0.0, 1, 99)), 40) == expected


def test_sampled_subwords_depend_on_seed_and_position_alone(store: TokenStore, tokenizers: Tokenizers) -> None:
    sampler = Sampler(store.lengths, max_tokens=80, seed=1)

    def batches(start: Position, seed: int, number: int) -> list[tuple[Position, list[int], Any, Any]]:
        return _taken(load(store, sampler, start, Resampling(tokenizers, 0.2, seed, 99)), number)

    whole = batches(Position(), 1, 40)
    tokenizers.source.resample([[5]], 0.5, 9)  # whatever was drawn before
    assert batches(whole[16][0], 1, 23) == whole[17:]
    others = batches(Position(), 2, 40)
    assert [batch[:2] for batch in others] == [batch[:2] for batch in whole]
    assert others != whole


def test_sampled_subwords_spell_the_same_text(store: TokenStore, tokenizers: Tokenizers) -> None:
    rows = np.arange(50)
    source, target = store.batch(rows)
    seen = set()
    for batch in range(20):
        limit = 36 + 3 * batch
        sampled, _ = Resampling(tokenizers, 0.3, 1, limit)(Position(0, batch), source, target)
        for old, new in zip(source.lists(), sampled.lists(), strict=True):
            assert tokenizers.source.decode(new) == tokenizers.source.decode(old)
            assert len(new) <= max(limit, len(old))
        assert sampled.lists()[7] == source.lists()[7]  # it holds <unk>
        seen.add(tuple(sampled.lists()[0]))
    assert len(seen) > 3
