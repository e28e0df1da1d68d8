"""Settings of the task of questions about scenes. No torch here."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Interval

from saccade.fields import Checked, Positive
from saccade.recipe import Recipe
from saccade.tasks.scenes.model_settings import CoAttentionSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesSettings(Checked):
    """A grid of coloured shapes, and a question such as "which colour is left of the star?"."""

    kind: Literal["scenes"] = "scenes"
    """The task."""
    batch: Positive = 64
    """Scenes of a batch, each with one question."""
    side: Annotated[int, Interval(ge=2, le=1000)] = 3
    """Cells of the grid in each direction."""
    num_colours: Annotated[int, Ge(2)] = 6
    """Colours, one of which is the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesRecipe(Recipe):
    """The sections of the recipe of scenes."""

    task: ScenesSettings = field(default_factory=ScenesSettings)
    """What is learned, and the data that shows it."""
    model: CoAttentionSettings = field(default_factory=CoAttentionSettings)
    """What is trained."""


RECIPES = (ScenesRecipe,)
