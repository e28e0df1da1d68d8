"""Token ids of an encoded corpus in memory-mapped files: larger than memory, opened in no time."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

VERSION = 1
_META = "store.json"
_SIDES = ("source", "target")


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """What `store.json` says: enough to refuse files that were cut short or belong to other tokenizers."""

    version: int
    num_examples: int
    dtype: str
    tokenizers: tuple[str, str]
    """Checksums of the source's and the target's tokenizer."""
    sizes: dict[str, int]
    """Bytes of each file."""
    checksums: dict[str, str]
    """sha256 of each file, taken while writing; tells corpora apart and is not recomputed at opening."""


class StoreWriter:
    """Writes a store as a context manager; without a normal end there is no `store.json`, hence no store."""

    def __init__(self, directory: Path, *, vocabulary: int, tokenizers: tuple[str, str]) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self._dtype = np.dtype("<u2" if vocabulary <= 65535 else "<u4")
        self._tokenizers = tokenizers
        self._num_examples = 0
        self._ends = dict.fromkeys(_SIDES, 0)
        names = [f"{side}.{part}" for side in _SIDES for part in ("ids", "offsets")]
        self._files = {name: _HashedFile(directory / name) for name in names}
        for side in _SIDES:
            self._files[f"{side}.offsets"].append(np.zeros(1, "<i8"))

    def write(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> None:
        """Append examples, source and target ids side by side."""
        assert len(sources) == len(targets)
        for side, rows in zip(_SIDES, (sources, targets), strict=True):
            offsets = self._ends[side] + np.cumsum([len(row) for row in rows], dtype="<i8")
            self._files[f"{side}.ids"].append(np.fromiter(chain.from_iterable(rows), self._dtype))
            self._files[f"{side}.offsets"].append(offsets)
            self._ends[side] = int(offsets[-1]) if len(rows) else self._ends[side]
        self._num_examples += len(sources)

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        if error is None:
            meta = StoreMeta(
                version=VERSION,
                num_examples=self._num_examples,
                dtype=self._dtype.str,
                tokenizers=self._tokenizers,
                sizes={name: file.size for name, file in self._files.items()},
                checksums={name: file.checksum for name, file in self._files.items()},
            )
            (self._directory / _META).write_text(json.dumps(asdict(meta), indent=1), encoding="utf-8")


class TokenStore:
    """An encoded corpus; `store[i]` gives source and target ids as views of the mapped files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.meta = _read_meta(directory)
        self._ids = [self._map(f"{side}.ids", self.meta.dtype) for side in _SIDES]
        self._offsets = [self._map(f"{side}.offsets", "<i8") for side in _SIDES]

    def __len__(self) -> int:
        return self.meta.num_examples

    def __getitem__(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        source, target = (
            ids[offsets[index] : offsets[index + 1]] for ids, offsets in zip(self._ids, self._offsets, strict=True)
        )
        return source, target

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of source and of target tokens of every example: one row each, two columns."""
        return np.stack([np.diff(offsets) for offsets in self._offsets], axis=1)

    def _map(self, name: str, dtype: str) -> NDArray[Any]:
        path = self.directory / name
        size = self.meta.sizes[name]
        found = path.stat().st_size if path.exists() else 0
        if found != size:
            raise DataError(
                f"{path} must have {size} bytes, but it has {found}: it was cut short or changed. "
                "Run `saccade prepare` again."
            )
        # An empty file cannot be mapped. A plain array over the map is sliced faster than a memmap.
        return np.asarray(np.memmap(path, dtype, mode="r")) if size else np.empty(0, dtype)


class _HashedFile:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._hash = hashlib.sha256()
        self.size = 0

    def append(self, values: NDArray[Any]) -> None:
        raw = values.tobytes()
        self._file.write(raw)
        self._hash.update(raw)
        self.size += len(raw)

    def close(self) -> None:
        self._file.close()

    @property
    def checksum(self) -> str:
        return self._hash.hexdigest()


def _read_meta(directory: Path) -> StoreMeta:
    try:
        values = json.loads((directory / _META).read_text(encoding="utf-8"))
        version = values["version"]
        if version == VERSION:
            return StoreMeta(**values | {"tokenizers": tuple(values["tokenizers"])})
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{directory} must be a token store, but its {_META} is missing or damaged. Run `saccade prepare` again."
        ) from None
    raise DataError(
        f"{directory} must be a token store of version {VERSION}, but it is of version {version}. "
        "Run `saccade prepare` again with this version of saccade."
    )
