"""Settings of the task of questions about scenes. No torch here."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Interval

from saccade.fields import Checked, Positive, Size
from saccade.recipe import recipe_of


@dataclass(frozen=True, kw_only=True, slots=True)
class CoAttentionSettings(Checked):
    """Co-attention (Lu et al. 2016), and what it is held against."""

    kind: Literal["coattention"] = "coattention"
    """The kind of model."""
    reads: Literal["parallel", "alternating", "mean", "image", "question"] = "parallel"
    """parallel and alternating: image and question lead each other, at once or in turn. mean: both by their mean. image
    and question: that side alone, by attention that asks the same of all."""
    d_model: Size = 64
    """Size of the vectors of cells and words."""

    @property
    def attends(self) -> bool:
        """Whether there are weights to be looked at."""
        return self.reads != "mean"


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


RECIPES = (recipe_of(ScenesSettings, CoAttentionSettings),)
