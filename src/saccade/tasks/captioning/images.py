"""Images with captions: a table of names and captions, or the JSON of Karpathy's splits, beside a folder of images.

No torch here. Images are decoded by Pillow, which is optional; a file that claims to be huge is refused undecoded.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError, MissingDependency
from saccade.text.formats.opening import open_text

Pixels = NDArray[np.uint8]
"""Height × width × three colours."""
Split = Literal["train", "val", "test"]

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
MOST_PIXELS = 64_000_000
"""Of an image that is decoded; a small file can claim far more, and fill the memory."""


@dataclass(frozen=True, slots=True)
class Captioned:
    """An image and what people said of it."""

    image: Path
    captions: tuple[str, ...]


def read_captions(path: Path, images: Path, *, split: Split = "train") -> list[Captioned]:
    """The images of a file with their captions: of JSON those of one split, of any other file all.

    An image comes where its first caption stands.
    """
    _check_folder(images)
    lines = _json_lines(path, split) if path.suffix == ".json" else _table_lines(path)
    found: dict[str, list[str]] = {}
    for name, caption, place in lines:
        if name not in found:
            _check_image(images, name, f"{path}, {place}")
        found.setdefault(name, []).append(caption)
    if not found:
        part = f' of the split "{split}"' if path.suffix == ".json" else ""
        raise DataError(f"{path} must hold at least one image with a caption{part}, but it holds none. Check the file.")
    return [Captioned(images / name, tuple(captions)) for name, captions in found.items()]


def pixels(path: Path, size: int) -> Pixels:
    """An image in RGB, brought to size × size whatever its form: every part of it stays, and the grid covers it all."""
    if find_spec("PIL") is None:
        raise MissingDependency(
            'Images need Pillow, which is not installed. Install it with: pip install "saccade[images]"'
        )
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # refused below, by our own bound
        try:
            with Image.open(path) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise DataError(
                        f"An image must have at most {MOST_PIXELS:,} pixels, but {path} claims {image.width} × "
                        f"{image.height}. Make it smaller; {size} × {size} is all that is used."
                    )
                image.draft("RGB", (size, size))  # lets a JPEG decode to about what is wanted
                small = image.convert("RGB").resize((size, size), Image.Resampling.BICUBIC)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise DataError(
                f"{path} must be an image that can be decoded, but it cannot: {error}. Copy it again, or remove it and "
                "its captions."
            ) from None
    return np.asarray(small, dtype=np.uint8)


def form(path: Path) -> float:
    """The width of an image by its height; it must be one that `pixels` has read."""
    from PIL import Image

    with Image.open(path) as image:
        return image.width / image.height


def pixel_batches(paths: Sequence[Path], size: int, batch: int) -> Iterator[Pixels]:
    """Images side by side, so many at a time."""
    for start in range(0, len(paths), batch):
        yield np.stack([pixels(path, size) for path in paths[start : start + batch]])


def _check_folder(images: Path) -> None:
    if not images.is_dir():
        raise DataError(
            f"{images} must be a folder of images, but {'it is a file' if images.exists() else 'it does not exist'}. "
            "Name the folder that the images lie in."
        )


def _table_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    """Name, caption, and where they stand, of a table with a tab between the two."""
    for number, line in enumerate(open_text(path), start=1):
        name, tab, caption = line.partition("\t")
        if not tab or not name.strip() or not caption.strip():
            what = "has no tab" if not tab else "has no name" if not name.strip() else "has no caption"
            raise DataError(
                f"Every line of {path} must hold the name of an image, a tab and a caption, but line {number} {what}. "
                "Put it in, or remove the line."
            )
        yield name.strip(), caption.strip(), f"line {number}"


def _json_lines(path: Path, split: Split) -> Iterator[tuple[str, str, str]]:
    """The same of Karpathy's JSON: {"images": [{"filename", "split", "sentences": [{"raw"}]}]}."""
    wanted = {"train", "restval"} if split == "train" else {split}
    for number, each in enumerate(_images_of(path), start=1):
        place = f"image {number}"
        try:
            belongs, name = each["split"], each["filename"]
            captions = [sentence["raw"] for sentence in each["sentences"]]
            strings = all(isinstance(text, str) for text in (belongs, name, *captions))
        except (KeyError, TypeError):
            strings = False
        if not strings:
            raise DataError(
                f"Every image of {path} must have a filename, a split and sentences with their raw text, but {place} "
                "has not. Use the JSON of Karpathy's splits, or a table: image name, tab, caption."
            )
        if belongs not in wanted:
            continue
        said = [caption.strip() for caption in captions if caption.strip()]
        if not said:
            raise DataError(
                f"Every image of {path} must have a caption, but {name} ({place}) has none. Add one, or remove the "
                "image."
            )
        for caption in said:
            yield str(Path(each.get("filepath", "")) / name), caption, place


def _images_of(path: Path) -> list[Any]:
    text = "\n".join(open_text(path))
    try:
        images = json.loads(text)["images"]
    except (ValueError, KeyError, TypeError, RecursionError):
        images = None
    if not isinstance(images, list):
        raise DataError(
            f'{path} must be JSON with a list of "images", as Karpathy\'s splits are, but it is not. Use such a file, '
            "or a table: image name, tab, caption."
        )
    return images


def _check_image(images: Path, name: str, place: str) -> None:
    image = images / name
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise DataError(
            f"The name of an image must stay in its folder, but {place} names {name!r}. Put the image into the folder, "
            "and correct the name."
        )
    if image.suffix.lower() not in EXTENSIONS:
        raise DataError(
            f"The name of an image must end in {', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]}, but {place} names "
            f"{name!r}. Convert the image, or correct the name."
        )
    if not image.is_file():
        raise DataError(
            f"Every caption must have its image, but {place} names {name!r}, which is not in {images}. "
            "Add the image, or remove the line."
        )
