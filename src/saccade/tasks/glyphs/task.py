"""The task of glyphs: what stands far away, and whether the network looked there."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.errors import ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.tasks.generated import TEST, GeneratedTask, held_out, need_no_text
from saccade.tasks.glyphs import glyphs
from saccade.tasks.glyphs.glyphs import Glyphs
from saccade.tasks.glyphs.model import FeatureMap
from saccade.tasks.glyphs.model_settings import FeatureMapSettings
from saccade.tasks.glyphs.settings import GlyphsSettings
from saccade.trace.bitmap import blend, image_address
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

GREY = blend((0, 0, 0, 255), (255, 255, 255, 255))


def at_places(
    logits: Float[Tensor, "batch classes grid_rows grid_columns"], batch: Glyphs
) -> Float[Tensor, "batch 2 classes"]:
    """The logits in the cell of each glyph."""
    rows = torch.arange(len(logits), device=logits.device)[:, None]
    return logits[rows, :, batch.place[..., 0], batch.place[..., 1]]


class GlyphsTask(GeneratedTask[GlyphsSettings, FeatureMapSettings, Glyphs]):
    """Images that are drawn at random."""

    measure = "accuracy"

    def build(self) -> FeatureMap:
        """A new model."""
        return FeatureMap(self.model, self.task.num_glyphs)

    def draw(self, random: np.random.Generator, count: int) -> Glyphs:
        """`count` images."""
        return glyphs.draw(self.task, random, count)

    def loss(self, model: nn.Module, batch: Glyphs) -> Tensor:
        """The cross-entropy in the two cells of each image that count."""
        logits = at_places(model(batch), batch).flatten(0, 1)
        return nn.functional.cross_entropy(logits, batch.label.flatten(), reduction="sum")

    def quality(self, model: nn.Module, batch: Glyphs) -> float:
        """The share of glyphs that are named rightly from afar."""
        return float((at_places(model(batch), batch).argmax(dim=-1) == batch.label).double().mean())

    def sample(self, model: nn.Module, batch: Glyphs) -> tuple[str, str]:
        """The glyphs, and what they were taken for."""
        named = at_places(model(batch), batch)[0].argmax(dim=-1).tolist()
        return str(batch.label[0].tolist()), str(named)

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Where the network looks from the cell of each glyph."""
        if not self.model.attends:
            raise ModelError(
                "Weights were asked for, but a network with attends = false has none: it sees its receptive field "
                "only. Train one with attends = true."
            )
        need_no_text(text, self.task.kind)
        batch = self.draw(held_out(TEST), 1)
        with evaluating(model), capture(model) as captured:
            named = at_places(model(batch), batch)[0].argmax(dim=-1).tolist()
        weights, cells = captured.weights["attention"][0][0].numpy(), self.task.side // glyphs.CELL
        places = [down * cells + across for down, across in batch.place[0].tolist()]
        picture = Picture(cells, cells, image_address(batch.image[0, 0].numpy(), GREY))
        tokens = Tokens(tuple(f"glyph{each}" for each in named))
        layer = Layer("attention", "image", weights[:, places])
        return [AttentionTrace(source=Tokens(()), target=tokens, layers=(layer,), image=picture)]


open_task = GlyphsTask.of
