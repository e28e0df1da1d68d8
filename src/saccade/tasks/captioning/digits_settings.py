"""The settings of scenes of handwritten digits. No torch here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class DigitsSettings:
    """Handwritten digits strewn over clutter, to be named from left to right."""

    kind: Literal["digits"] = "digits"
    """The task."""
    size: int = 40
    """Pixels of a side of a scene; a multiple of 4, at least 40, or 16 for a single digit."""
    digits: int = 3
    """Digits of the fullest scene, from 1 to 3."""
    fewest: int = 1
    """Digits of the emptiest scene."""
    clutter: int = 6
    """Pieces of other digits that lie between them and are not to be named."""
    easy: int = 600
    """The first so many batches of a training have one digit that fills most of the scene, and no clutter: what a digit
    is, is learned sooner so, and what to look at with it."""
    batch: int = 64
    """Scenes of a batch."""

    def __post_init__(self) -> None:
        problems = []
        if not 1 <= self.digits <= 3:
            problems.append(f"digits must be from 1 to 3, not {self.digits}")
        elif not 1 <= self.fewest <= self.digits:
            problems.append(f"fewest must be from 1 to digits, which is {self.digits}, not {self.fewest}")
        least = 16 if self.digits == 1 else 40
        if self.size < least or self.size % 4:
            problems.append(f"size must be at least {least} and a multiple of 4, not {self.size}")
        for name in ("clutter", "easy"):
            if getattr(self, name) < 0:
                problems.append(f"{name} must be at least 0, not {getattr(self, name)}")
        if self.batch < 1:
            problems.append(f"batch must be at least 1, not {self.batch}")
        if problems:
            raise ValueError("; ".join(problems))
