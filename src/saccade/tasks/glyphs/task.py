"""Glyphs: images with two glyphs far apart; in the cell of each, the other one is to be named.

No convolution that sees less than the distance between them can tell, however well it knows glyphs.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.errors import ModelError
from saccade.nn.capture import capture
from saccade.nn.feature_maps import MapAttention
from saccade.nn.mode import evaluating
from saccade.tasks.generated import ClassificationTask, Labelled, need_no_text
from saccade.tasks.glyphs.settings import FeatureMapSettings, GlyphsSettings
from saccade.trace.bitmap import blend, image_address
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

SIZE, CELL = 5, 4
"""Pixels of a glyph, and of a cell, in each direction; cell n has its middle at pixel 4n."""
GREY = blend((0, 0, 0, 255), (255, 255, 255, 255))


@dataclass(frozen=True, slots=True)
class Glyphs(Labelled):
    """Images with what is to be said in two of their cells."""

    image: Float[Tensor, "batch 1 pixel_rows pixel_columns"]
    place: Int[Tensor, "batch 2 2"]
    """Row and column of each glyph, in cells."""
    label: Int[Tensor, "batch 2"]
    """Which glyph stands at the other place."""


class FeatureMap(nn.Module):
    """Two convolutions that make a cell of 4 × 4 pixels, self-attention or none, and the scores of the classes."""

    def __init__(self, settings: FeatureMapSettings, num_classes: int) -> None:
        super().__init__()
        d_model, kernel = settings.d_model, settings.kernel
        self.cells = nn.Sequential(
            nn.Conv2d(1, d_model, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(d_model, d_model, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.attention = MapAttention(d_model) if settings.attends else nn.Identity()
        self.layers = nn.ModuleList(
            nn.Conv2d(d_model, d_model, kernel, padding=kernel // 2) for _ in range(settings.layers)
        )
        self.output = nn.Conv2d(d_model, num_classes, 1)

    def forward(self, batch: Glyphs) -> Float[Tensor, "batch classes grid_rows grid_columns"]:
        features = self.attention(self.cells(batch.image))
        for layer in self.layers:
            features = layer(features).relu()
        logits: Tensor = self.output(features)
        return logits


class GlyphsTask(ClassificationTask[GlyphsSettings, FeatureMapSettings, Glyphs]):
    """What stands far away, and whether the network looked there."""

    def build(self) -> FeatureMap:
        return FeatureMap(self.model, self.task.num_glyphs)

    def draw(self, random: np.random.Generator, count: int) -> Glyphs:
        """`count` images: one glyph near the upper left corner, one near the lower right, each in the middle of a
        cell.
        """
        task, reach, cells = self.task, SIZE // 2, self.task.side // CELL
        from_corner = random.integers(1, cells // 4 + 2, (count, 2, 2))
        place = np.stack([from_corner[:, 0], cells - 1 - from_corner[:, 1]], axis=1)
        which = random.integers(0, task.num_glyphs, (count, 2))
        image = np.zeros((count, task.side, task.side), dtype=bool)
        known = patterns(task.num_glyphs)
        for row in range(count):
            for (down, across), glyph in zip(place[row] * CELL, which[row], strict=True):
                image[row, down - reach : down + reach + 1, across - reach : across + reach + 1] = known[glyph]
        image ^= random.random(image.shape) < task.noise
        return Glyphs(*map(torch.from_numpy, (image[:, None].astype(np.float32), place, which[:, ::-1].copy())))

    def logits(self, model: nn.Module, batch: Glyphs) -> Float[Tensor, "batch 2 classes"]:
        """Those in the cell of each glyph, the only ones that count."""
        logits = model(batch)
        rows = torch.arange(len(logits), device=logits.device)[:, None]
        in_cells: Tensor = logits[rows, :, batch.place[..., 0], batch.place[..., 1]]
        return in_cells

    def sample(self, model: nn.Module, batch: Glyphs) -> tuple[str, str]:
        """The glyphs, and what they were taken for."""
        return str(batch.label[0].tolist()), str(self.logits(model, batch)[0].argmax(dim=-1).tolist())

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Where the network looks from the cell of each glyph."""
        if not self.model.attends:
            raise ModelError(
                "Weights were asked for, but a network with attends = false has none: it sees its receptive field "
                "only. Train one with attends = true."
            )
        need_no_text(text, self.task.kind)
        batch = self.example()
        with evaluating(model), capture(model) as captured:
            named = self.logits(model, batch)[0].argmax(dim=-1).tolist()
        weights, cells = captured.weights["attention"][0][0].numpy(), self.task.side // CELL
        places = [down * cells + across for down, across in batch.place[0].tolist()]
        picture = Picture(cells, cells, image_address(batch.image[0, 0].numpy(), GREY))
        tokens = Tokens(tuple(f"glyph{glyph}" for glyph in named))
        layer = Layer("attention", "image", weights[:, places])
        return [AttentionTrace(source=Tokens(()), target=tokens, layers=(layer,), image=picture)]


def patterns(count: int) -> NDArray[np.bool_]:
    """The glyphs, always the same: each differs from any other in at least a third of its pixels."""
    random, glyphs = np.random.default_rng(0), np.empty((0, SIZE, SIZE), dtype=bool)
    while len(glyphs) < count:
        new = random.random((SIZE, SIZE)) < 0.5
        if ((glyphs != new).sum(axis=(1, 2)) >= SIZE * SIZE // 3).all():
            glyphs = np.concatenate([glyphs, new[None]])
    return glyphs


open_task = GlyphsTask.of
