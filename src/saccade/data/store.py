"""Token ids of an encoded corpus in memory-mapped files: larger than memory, opened in no time."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.files import sha256_of

VERSION = 2
_META = "store.json"
_SIDES = ("source", "target")
_PLACES = "places"


@dataclass(frozen=True, slots=True)
class Ragged:
    """Sequences of unequal lengths, one behind another in a flat array."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int] | NDArray[Any]], dtype: Any = np.int64) -> "Ragged":
        lengths = np.fromiter(map(len, sequences), np.int64, count=len(sequences))
        return cls(np.fromiter(chain.from_iterable(sequences), dtype, count=int(lengths.sum())), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def prefixed(self, id: int) -> "Ragged":
        """The same with one more id before each sequence."""
        starts = np.cumsum(self.lengths) - self.lengths
        return Ragged(np.insert(self.ids, starts, id), self.lengths + 1)

    def lists(self) -> list[list[int]]:
        """Each sequence by itself."""
        return [part.tolist() for part in np.split(self.ids, np.cumsum(self.lengths)[:-1])] if len(self) else []


Part = tuple[Ragged, Ragged, int, NDArray[Any]]
"""Examples of one corpus: sources, targets, the number of the corpus, and the line of each."""


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """What `store.json` says: enough to refuse files that were cut short or belong to other tokenizers."""

    version: int
    num_examples: int
    dtype: str
    tokenizers: tuple[str, str]  # checksums of the source's and the target's tokenizer
    corpora: tuple[str, ...]  # a name for each corpus, to tell places
    sizes: dict[str, int]  # bytes of each file
    checksums: dict[str, str]  # sha256 of each file; tells corpora apart and is not recomputed at opening

    @property
    def digest(self) -> str:
        """Tells the encoded text from any other. Nothing is learned from places, which version 1 did not have."""
        content = asdict(self) | {"version": 1}
        del content["corpora"]
        for table in ("sizes", "checksums"):
            content[table] = {name: value for name, value in content[table].items() if name != _PLACES}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_store(
    directory: Path, parts: Iterable[Part], *, vocabulary: int, tokenizers: tuple[str, str], corpora: Sequence[str]
) -> None:
    """Write all parts, one after the other. `store.json` comes last, so that an interruption leaves no store."""
    directory.mkdir(parents=True)
    dtype, num_examples, ends = id_type(vocabulary), 0, dict.fromkeys(_SIDES, 0)
    names = [*(f"{side}.{part}" for side in _SIDES for part in ("ids", "offsets")), _PLACES]
    with ExitStack() as stack:
        files = {name: stack.enter_context((directory / name).open("wb")) for name in names}
        for side in _SIDES:
            files[f"{side}.offsets"].write(np.zeros(1, "<i8").tobytes())
        for sources, targets, corpus, lines in parts:
            assert len(sources) == len(targets) == len(lines)
            for side, texts in zip(_SIDES, (sources, targets), strict=True):
                offsets = ends[side] + np.cumsum(texts.lengths, dtype="<i8")
                files[f"{side}.ids"].write(texts.ids.astype(dtype, copy=False).tobytes())
                files[f"{side}.offsets"].write(offsets.tobytes())
                ends[side] = int(offsets[-1]) if len(texts) else ends[side]
            places = np.empty((len(lines), 2), "<u4")
            places[:, 0], places[:, 1] = corpus, lines
            files[_PLACES].write(places.tobytes())
            num_examples += len(sources)
    sizes = {name: (directory / name).stat().st_size for name in names}
    checksums = {name: sha256_of(directory / name) for name in names}
    meta = StoreMeta(VERSION, num_examples, dtype.str, tokenizers, tuple(corpora), sizes, checksums)
    (directory / _META).write_text(json.dumps(asdict(meta), indent=1), encoding="utf-8")


class TokenStore:
    """An encoded corpus; `store[i]` gives source and target ids as views of the mapped files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.meta = _read_meta(directory)
        self._ids = [self._map(f"{side}.ids", self.meta.dtype) for side in _SIDES]
        self._offsets = [self._map(f"{side}.offsets", "<i8") for side in _SIDES]
        self._places = self._map(_PLACES, "<u4").reshape(-1, 2)

    def __len__(self) -> int:
        return self.meta.num_examples

    def __getitem__(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        sides = zip(self._ids, self._offsets, strict=True)
        source, target = (ids[offsets[index] : offsets[index + 1]] for ids, offsets in sides)
        return source, target

    def batch(self, rows: NDArray[np.int64]) -> tuple[Ragged, Ragged]:
        """Sources and targets of many rows, gathered at once."""
        source, target = (_gather(ids, offsets, rows) for ids, offsets in zip(self._ids, self._offsets, strict=True))
        return source, target

    def place(self, row: int) -> str:
        """Where an example comes from: the corpus and the line, such as `train.en:16510`."""
        corpus, line = self._places[row].tolist()
        return f"{self.meta.corpora[corpus]}:{line}"

    def weights(self, of_corpora: Sequence[float]) -> NDArray[np.float64] | None:
        """Every example's weight, given that of each corpus; None if all of them count once."""
        if all(weight == 1 for weight in of_corpora):
            return None
        return np.take(np.array(of_corpora, np.float64), self._places[:, 0])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of examples of each corpus."""
        return np.bincount(self._places[:, 0], minlength=len(self.meta.corpora))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of source and of target tokens of every example: one row each, two columns."""
        return np.stack([np.diff(offsets) for offsets in self._offsets], axis=1)

    @property
    def num_tokens(self) -> tuple[int, int]:
        """Tokens of all sources and of all targets."""
        source, target = (len(ids) for ids in self._ids)
        return source, target

    def _map(self, name: str, dtype: str) -> NDArray[Any]:
        path, size = self.directory / name, self.meta.sizes[name]
        actual = path.stat().st_size if path.exists() else 0
        if actual != size:
            change = f"{path} must have {size} bytes, but it has {actual}: it was cut short or changed."
            raise DataError(f"{change} Run `saccade prepare` again.")
        # An empty file cannot be mapped. A plain array over the map is sliced faster than a memmap.
        return np.asarray(np.memmap(path, dtype, mode="r")) if size else np.empty(0, dtype)


def id_type(vocabulary: int) -> np.dtype[Any]:
    """Ids take two bytes while they can."""
    return np.dtype("<u2" if vocabulary <= 65535 else "<u4")


def _gather(ids: NDArray[Any], offsets: NDArray[Any], rows: NDArray[np.int64]) -> Ragged:
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    # From a place in the batch to one in the file: both advance together within a row.
    shifts = starts - (np.cumsum(lengths) - lengths)
    return Ragged(ids[np.arange(lengths.sum()) + np.repeat(shifts, lengths)], lengths)


def _read_meta(directory: Path) -> StoreMeta:
    try:
        values = json.loads((directory / _META).read_text(encoding="utf-8"))
        version = values["version"]
        if version == VERSION:
            listed = {name: tuple(values[name]) for name in ("tokenizers", "corpora")}
            return StoreMeta(**values | listed)
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{directory} must be a token store, but its {_META} is missing or damaged. Run `saccade prepare` again."
        ) from None
    raise DataError(
        f"{directory} must be a token store of version {VERSION}, but it is of version {version}. "
        "Run `saccade prepare` again with this version of saccade."
    )
