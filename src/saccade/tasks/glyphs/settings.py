"""Settings of the task of far-away glyphs. No torch here."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Interval, Lt, MultipleOf

from saccade.fields import Checked, Layers, Positive, Size
from saccade.recipe import recipe_of


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureMapSettings(Checked):
    """A feature map of cells that see 7 pixels each, self-attention over it (SAGAN), and layers on top."""

    kind: Literal["feature-map"] = "feature-map"
    """The kind of model."""
    attends: bool = True
    """Has self-attention over the cells of the map."""
    layers: Layers = 2
    """Convolutions on top of it."""
    kernel: Literal[1, 3] = 1
    """How many cells these see at once, in each direction; with 1, a cell learns of others by attention alone."""
    d_model: Size = 32
    """Channels of the map."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GlyphsSettings(Checked):
    """An image with two glyphs far apart: in the place of each, the other one is to be named."""

    kind: Literal["glyphs"] = "glyphs"
    """The task."""
    batch: Positive = 64
    """Images of a batch, each with two glyphs."""
    side: Annotated[int, Interval(ge=24, le=10_000), MultipleOf(4)] = 28
    """Pixels of the image in each direction."""
    num_glyphs: Annotated[int, Ge(2)] = 6
    """Different glyphs, of 5 by 5 pixels."""
    noise: Annotated[float, Ge(0), Lt(0.5)] = 0.05
    """Share of pixels that are turned over."""


RECIPES = (recipe_of(GlyphsSettings, FeatureMapSettings),)
