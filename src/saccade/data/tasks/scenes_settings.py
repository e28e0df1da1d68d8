"""Settings of the task of questions about scenes. No torch here."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Interval

from saccade.fields import Checked, Positive


@dataclass(frozen=True, kw_only=True, slots=True)
class ScenesSettings(Checked):
    """A grid of coloured shapes, and a question such as "which colour is left of the star?"."""

    MODELS: ClassVar[tuple[str, ...]] = ("coattention",)

    kind: Literal["scenes"] = "scenes"
    """The task."""
    batch: Positive = 64
    """Scenes of a batch, each with one question."""
    side: Annotated[int, Interval(ge=2, le=1000)] = 3
    """Cells of the grid in each direction."""
    num_colours: Annotated[int, Ge(2)] = 6
    """Colours, one of which is the answer."""
