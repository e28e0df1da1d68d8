"""Settings of the task of far-away glyphs. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe
from saccade.tasks.glyphs.model_settings import FeatureMapSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class GlyphsSettings:
    """An image with two glyphs far apart: in the place of each, the other one is to be named."""

    kind: Literal["glyphs"] = "glyphs"
    """The task."""
    batch: int = 64
    """Images of a batch, each with two glyphs."""
    side: int = 28
    """Pixels of the image in each direction; a multiple of 4, and at least 24."""
    num_glyphs: int = 6
    """Different glyphs, of 5 by 5 pixels."""
    noise: float = 0.05
    """Share of pixels that are turned over."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("side", 24), ("num_glyphs", 2))
            if getattr(self, name) < least
        ]
        if self.side % 4:
            problems.append(f"side must be a multiple of 4, not {self.side}")
        if not 0 <= self.noise < 0.5:
            problems.append(f"noise must be at least 0 and below 0.5, not {self.noise}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class GlyphsRecipe(Recipe):
    """The sections of the recipe of glyphs."""

    task: GlyphsSettings = field(default_factory=GlyphsSettings)
    """What is learned, and the data that shows it."""
    model: FeatureMapSettings = field(default_factory=FeatureMapSettings)
    """What is trained."""


RECIPES = (GlyphsRecipe,)
