from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data.store import Ragged, TokenStore, write_store

Ids = list[int]


def _write(directory: Path, chunks: list[list[tuple[Ids, Ids]]], vocabulary: int = 8000) -> TokenStore:
    sides = [[Ragged.of([example[side] for example in chunk]) for side in (0, 1)] for chunk in chunks]
    parts = [(*pair, number, 10 + np.arange(len(pair[0]))) for number, pair in enumerate(sides)]
    write_store(directory, parts, vocabulary=vocabulary, tokenizers=("s", "t"), corpora=("a", "b", "c"))
    return TokenStore(directory)


def _ids(vocabulary: int) -> st.SearchStrategy[list[list[tuple[Ids, Ids]]]]:
    row = st.lists(st.integers(0, vocabulary - 1), max_size=5)
    return st.lists(st.lists(st.tuples(row, row), max_size=5), max_size=3)


@settings(deadline=None, max_examples=50)
@given(data=st.data(), vocabulary=st.sampled_from([1, 65535, 65536, 2**31]))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, vocabulary: int
) -> None:
    chunks = data.draw(_ids(vocabulary))
    store = _write(tmp_path_factory.mktemp("store") / "train", chunks, vocabulary)
    expected = [example for chunk in chunks for example in chunk]
    assert len(store) == len(expected)
    assert [(source.tolist(), target.tolist()) for source, target in store] == expected
    assert store.lengths.tolist() == [[len(source), len(target)] for source, target in expected]
    assert store.lengths.shape == (len(expected), 2)
    assert store.num_tokens == tuple(store.lengths.sum(axis=0))
    places = [f"{name}:{10 + line}" for name, chunk in zip("abc", chunks, strict=False) for line in range(len(chunk))]
    assert [store.place(row) for row in range(len(store))] == places
    rows = np.random.default_rng(0).permutation(2 * len(expected)) // 2  # every one twice
    assert list(zip(*(side.lists() for side in store.batch(rows)), strict=True)) == [expected[row] for row in rows]


@pytest.mark.parametrize(("vocabulary", "dtype"), [(65535, np.uint16), (65536, np.uint32)])
def test_ids_take_two_bytes_while_they_can(tmp_path: Path, vocabulary: int, dtype: type) -> None:
    store = _write(tmp_path / "train", [[([1], [2, 3])]], vocabulary)
    assert store[0][0].dtype == dtype
    assert store.meta.sizes["target.ids"] == 2 * np.dtype(dtype).itemsize


def test_an_index_out_of_range_is_refused(tmp_path: Path) -> None:
    store = _write(tmp_path / "train", [[([1], [2])]])
    for index in (1, -1):
        with pytest.raises(IndexError):
            store[index]


def test_checksums_tell_stores_of_equal_sizes_apart(tmp_path: Path) -> None:
    metas = [_write(tmp_path / str(id), [[([id], [2])]]).meta for id in (5, 6)]
    assert metas[0].sizes == metas[1].sizes
    assert metas[0].checksums != metas[1].checksums


def test_an_interrupted_writer_leaves_no_store(tmp_path: Path) -> None:
    def interrupted() -> Iterator[tuple[Ragged, Ragged, int, np.ndarray]]:
        yield Ragged.of([[1]]), Ragged.of([[2]]), 0, np.array([1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(tmp_path / "train", interrupted(), vocabulary=9, tokenizers=("s", "t"), corpora=("a",))
    assert not (tmp_path / "train" / "store.json").exists()


def test_weights_of_corpora_are_those_of_their_examples(tmp_path: Path) -> None:
    one, two = ([1], [2]), ([3], [4])
    store = _write(tmp_path / "train", [[one], [], [one, two]])
    weights = store.weights([0.5, 7.0, 2.0])
    assert weights is not None
    assert weights.tolist() == [0.5, 2, 2]
    assert store.weights([1.0, 1.0, 1.0]) is None


def test_the_digest_is_of_text_alone(tmp_path: Path) -> None:
    """So that a run that began with a store of version 1 goes on; its digest is written down here."""
    one, two = ([1], [2]), ([3], [4])
    digests = {_write(tmp_path / str(i), chunks).meta.digest for i, chunks in enumerate([[[one, two]], [[one], [two]]])}
    assert digests == {"da90d0d008e892f1c99f569d716209a816dd094e95338132c1899eea25ec14d9"}
