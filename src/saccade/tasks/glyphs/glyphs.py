"""Images with two glyphs far apart; in the cell of each, the other one is to be named.

No convolution that sees less than the distance between them can tell, however well it knows glyphs.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from saccade.tasks.glyphs.settings import GlyphsSettings

SIZE, CELL = 5, 4
"""Pixels of a glyph, and of a cell, in each direction; cell n has its middle at pixel 4n."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Images with what is to be said in two of their cells."""

    image: Float[Tensor, "batch 1 pixel_rows pixel_columns"]
    place: Int[Tensor, "batch 2 2"]
    """Row and column of each glyph, in cells."""
    label: Int[Tensor, "batch 2"]
    """Which glyph stands at the other place."""

    @property
    def num_targets(self) -> int:
        """Two for each image."""
        return self.label.numel()

    def to(self, device: torch.device) -> "Glyphs":
        """The same on another device."""
        return Glyphs(*(getattr(self, field.name).to(device) for field in fields(self)))


def patterns(task: GlyphsSettings) -> NDArray[np.bool_]:
    """The glyphs, always the same: each differs from any other in at least a third of its pixels."""
    random, found = np.random.default_rng(0), np.empty((0, SIZE, SIZE), dtype=bool)
    while len(found) < task.num_glyphs:
        new = random.random((SIZE, SIZE)) < 0.5
        if ((found != new).sum(axis=(1, 2)) >= SIZE * SIZE // 3).all():
            found = np.concatenate([found, new[None]])
    return found


def draw(task: GlyphsSettings, random: np.random.Generator, count: int) -> Glyphs:
    """So many images: one glyph near the upper left corner, one near the lower right, each in the middle of a cell."""
    reach, cells = SIZE // 2, task.side // CELL
    from_corner = random.integers(1, cells // 4 + 2, (count, 2, 2))
    place = np.stack([from_corner[:, 0], cells - 1 - from_corner[:, 1]], axis=1)
    which = random.integers(0, task.num_glyphs, (count, 2))
    image = np.zeros((count, task.side, task.side), dtype=bool)
    known = patterns(task)
    for row in range(count):
        for (down, across), glyph in zip(place[row] * CELL, which[row], strict=True):
            image[row, down - reach : down + reach + 1, across - reach : across + reach + 1] = known[glyph]
    image ^= random.random(image.shape) < task.noise
    return Glyphs(
        torch.from_numpy(image[:, None].astype(np.float32)),
        torch.from_numpy(place),
        torch.from_numpy(which[:, ::-1].copy()),
    )
