"""Small images inside pictures: PNG with a palette, as a `data:` address."""

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEVELS = 64
"""Shades of a palette: more than an eye tells apart, and few enough to pack well."""
Colour = tuple[int, int, int, int]
"""Red, green, blue and opacity, of 255 each."""


def image_address(shares: NDArray[np.floating], palette: Sequence[Colour]) -> str:
    """One pixel for each share: 0 in the first colour of the palette, 1 in the last."""
    pixels = np.rint(np.clip(shares, 0, 1) * (len(palette) - 1)).astype(np.uint8)
    height, width = pixels.shape
    lines = np.pad(pixels, ((0, 0), (1, 0)))  # each line begins with the number of its filter, 0 for none
    colours = np.array(palette, dtype=np.uint8)
    png = b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colours[:, :3].tobytes()),
            _chunk(b"tRNS", colours[:, 3].tobytes()) if (colours[:, 3] < 255).any() else b"",
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def blend(first: Colour, last: Colour) -> list[Colour]:
    """A palette from one colour to another."""
    steps = np.linspace(first, last, LEVELS).round().astype(int)
    return [(int(red), int(green), int(blue), int(opacity)) for red, green, blue, opacity in steps]


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
