from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data.store import StoreWriter, TokenStore

Ids = list[int]


def _write(directory: Path, chunks: list[list[tuple[Ids, Ids]]], vocabulary: int = 8000) -> TokenStore:
    with StoreWriter(directory, vocabulary=vocabulary, tokenizers=("s", "t")) as writer:
        for chunk in chunks:
            writer.write([source for source, _ in chunk], [target for _, target in chunk])
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
    def interrupted() -> None:
        with StoreWriter(tmp_path / "train", vocabulary=9, tokenizers=("s", "t")) as writer:
            writer.write([[1]], [[2]])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not (tmp_path / "train" / "store.json").exists()
