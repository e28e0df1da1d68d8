"""The settings of scenes of handwritten digits. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, MultipleOf

from saccade.fields import Checked, NotNegative, Positive


@dataclass(frozen=True, kw_only=True, slots=True)
class DigitsSettings(Checked):
    """Handwritten digits strewn over clutter, to be named from left to right."""

    kind: Literal["digits"] = "digits"
    """The task."""
    size: Annotated[int, Interval(ge=16, le=10_000), MultipleOf(4)] = 40
    """Pixels of a side of a scene; at least 40 for more than one digit."""
    digits: Annotated[int, Interval(ge=1, le=3)] = 3
    """Digits of the fullest scene."""
    fewest: Positive = 1
    """Digits of the emptiest scene."""
    clutter: NotNegative = 6
    """Pieces of other digits that lie between them and are not to be named."""
    easy: NotNegative = 600
    """The first so many batches of a training have one digit that fills most of the scene, and no clutter: what a digit
    is, is learned sooner so, and what to look at with it."""
    batch: Positive = 64
    """Scenes of a batch."""

    def conflicts(self) -> Iterator[str]:
        if self.fewest > self.digits:
            yield f"fewest must be from 1 to digits, which is {self.digits}, not {self.fewest}"
        if self.digits > 1 and self.size < 40:
            yield f"size must be at least 40 for {self.digits} digits, not {self.size}"
