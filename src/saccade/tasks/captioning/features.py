"""Grids of image features, computed once by a frozen network and kept in a file that is mapped, not read.

Beside the array stands a description: which images, which network, and the checksum of it all. The network is
EfficientNet-Lite0 from a file of parameters; docs/captions.md says where to get it.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from saccade import files
from saccade.engines.engine import Advanced
from saccade.errors import DataError, ModelError
from saccade.files import sha256_of
from saccade.nn.images import EfficientNetLite
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
    advanced: Advanced = lambda _: None,
) -> Features:
    """Open the features at `path` (an .npy file), computing them first unless those of all these images are there."""
    wanted = Description(tuple(image.name for image in images), size, network)
    if len(set(wanted.images)) < len(images):
        raise DataError("The images of one folder must have different names, but two are the same. Rename one.")
    known = _described(path)
    if known is None or replace(known, images=wanted.images) != wanted or set(wanted.images) - set(known.images):
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
    if files.sha256_of(path) != found.checksum:
        raise DataError(
            f"{path} must be as it was written, but its checksum differs from that of its description. Remove both; "
            "they are made again."
        )
    return Features(np.load(path, mmap_mode="r", allow_pickle=False), found.images)


def _write(
    path: Path, batches: Iterator[Pixels], describes: Describes, description: Description, advanced: Advanced
) -> None:
    """Write the features in half precision, then their description."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.remove_abandoned_drafts(path.parent)
    with files.draft_file(path) as draft:
        array: Grids | None = None
        done = 0
        for batch in batches:
            grids = describes(batch)
            if array is None:
                shape = (len(description.images), *grids.shape[1:])
                array = np.lib.format.open_memmap(draft, mode="w+", dtype=np.float16, shape=shape)
            array[done : done + len(grids)] = grids
            done += len(grids)
            advanced(done)
        assert isinstance(array, np.memmap), "there is at least one image"
        array.flush()
        described = asdict(description) | {"checksum": files.sha256_of(draft)}
        _beside(path).unlink(missing_ok=True)  # it must never describe another array than its own
    files.write_atomically(_beside(path), json.dumps(described, indent=1))


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


SIZE = 224
"""Pixels of a side: what it was trained on."""
MEAN, SPREAD = 127.0, 128.0


class EfficientNet:
    """The frozen network, from pixels to grids of 7 × 7 cells with 1280 features each."""

    def __init__(self, path: Path) -> None:
        """`path` is a safetensors file that benchmarks/efficientnet.py wrote."""
        self.network = EfficientNetLite().eval().requires_grad_(False)
        try:
            self.network.load_state_dict(load_file(path))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelError(
                f"{path} must hold the parameters of EfficientNet-Lite0 as benchmarks/efficientnet.py writes them, but "
                f"it cannot be used: {str(error).splitlines()[0]}. Make it again."
            ) from None
        self.checksum = sha256_of(path)

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Grids of these images."""
        channels_first = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
        with torch.inference_mode():
            grids: NDArray[np.float32] = self.network((channels_first.float() - MEAN) / SPREAD).numpy()
        return grids
