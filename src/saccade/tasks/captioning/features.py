"""Grids of image features, computed once by a frozen network and kept in a file that is mapped, not read.

Beside the array stands a description: which images, which network, and the checksum of it all.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.tasks.captioning.images import Pixels, pixel_batches

Grids = NDArray[np.floating[Any]]
"""Images × rows × columns × features."""
Describes = Callable[[Pixels], Grids]
"""A network that turns images side by side into grids."""

BATCH = 32
VERSION = 1


@dataclass(frozen=True, slots=True)
class Description:
    """What an array of features holds."""

    images: tuple[str, ...]
    """Their names, in order."""
    size: int
    """Pixels of a side of what the network was shown."""
    network: str
    """The checksum of its parameters."""
    checksum: str = ""
    """Of the array's file."""
    version: int = VERSION


class Features:
    """The grids of many images, by name."""

    def __init__(self, grids: Grids, names: Sequence[str]) -> None:
        self.grids = grids
        self.place = {name: place for place, name in enumerate(names)}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, and features of a cell."""
        rows, columns, features = self.grids.shape[1:]
        return rows, columns, features

    def of(self, names: Sequence[str]) -> NDArray[np.float32]:
        """The grids of these images."""
        return self.grids[[self.place[name] for name in names]].astype(np.float32)


def features(
    path: Path,
    images: Sequence[Path],
    describes: Describes,
    *,
    size: int,
    network: str,
    advanced: Callable[[int], None] = lambda _: None,
) -> Features:
    """Open the features at `path` (an .npy file), computing them first unless those of all these images are there."""
    wanted = Description(tuple(image.name for image in images), size, network)
    if len(set(wanted.images)) < len(images):
        raise DataError("The images of one folder must have different names, but two are the same. Rename one.")
    found = _described(path)
    if (
        found is None
        or replace(found, images=()) != replace(wanted, images=())
        or set(wanted.images) - set(found.images)
    ):
        _write(path, pixel_batches(images, size, BATCH), describes, wanted, advanced)
    return open_features(path)


def open_features(path: Path) -> Features:
    """Features that were computed before; a file that is cut short or changed is refused."""
    found = _described(path, with_checksum=True)
    if found is None:
        raise DataError(
            f"{path} must be a file of image features with its description beside it, but it is not, or of another "
            "version. Remove both; they are made again."
        )
    if _checksum(path) != found.checksum:
        raise DataError(
            f"{path} must be as it was written, but its checksum differs from that of its description. Remove both; "
            "they are made again."
        )
    return Features(np.load(path, mmap_mode="r", allow_pickle=False), found.images)


def _write(
    path: Path,
    batches: Iterator[Pixels],
    describes: Describes,
    description: Description,
    advanced: Callable[[int], None],
) -> None:
    """In half precision, under another name until it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    array: Grids | None = None
    done = 0
    for batch in batches:
        grids = describes(batch)
        if array is None:
            shape = (len(description.images), *grids.shape[1:])
            array = np.lib.format.open_memmap(unfinished, mode="w+", dtype=np.float16, shape=shape)
        array[done : done + len(grids)] = grids
        done += len(grids)
        advanced(done)
    assert isinstance(array, np.memmap), "there is at least one image"
    array.flush()
    described = asdict(description) | {"checksum": _checksum(unfinished)}
    beside = _beside(path)
    beside.unlink(missing_ok=True)  # it must never describe another array than its own
    unfinished.replace(path)
    unfinished.write_text(json.dumps(described, indent=1), encoding="utf-8")
    unfinished.replace(beside)


def _described(path: Path, *, with_checksum: bool = False) -> Description | None:
    """What stands beside the array, or None if it does not say what we understand."""
    try:
        told = json.loads(_beside(path).read_text(encoding="utf-8"))
        told["images"] = tuple(told["images"])
        found = Description(**told if with_checksum else told | {"checksum": ""})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if found.version == VERSION and path.is_file() else None


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
