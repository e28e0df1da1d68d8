"""Settings of the task of questions about scenes. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe
from saccade.tasks.scenes.model_settings import CoAttentionSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesSettings:
    """A grid of coloured shapes, and a question such as "which colour is left of the star?"."""

    kind: Literal["scenes"] = "scenes"
    """The task."""
    batch: int = 64
    """Scenes of a batch, each with one question."""
    side: int = 3
    """Cells of the grid in each direction."""
    num_colours: int = 6
    """Colours, one of which is the answer."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("side", 2), ("num_colours", 2))
            if getattr(self, name) < least
        ]
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesRecipe(Recipe):
    """The sections of the recipe of scenes."""

    task: ScenesSettings = field(default_factory=ScenesSettings)
    """What is learned, and the data that shows it."""
    model: CoAttentionSettings = field(default_factory=CoAttentionSettings)
    """What is trained."""


RECIPES = (ScenesRecipe,)
