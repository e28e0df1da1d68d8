"""Settings of the task of facets. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe
from saccade.tasks.facets.model_settings import MultiDimensionalSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class FacetsSettings:
    """A sequence of things with two facets each; one facet of one thing is asked for, and the other of another."""

    kind: Literal["facets"] = "facets"
    """The task."""
    batch: int = 64
    """Sequences of a batch."""
    min_length: int = 4
    """Things of the shortest sequence."""
    max_length: int = 10
    """Things of the longest sequence."""
    num_values: int = 6
    """Values of each facet; there are so many times so many things."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("min_length", 2), ("num_values", 2))
            if getattr(self, name) < least
        ]
        if self.max_length < self.min_length:
            problems.append(
                f"max_length must be at least min_length, which is {self.min_length}, not {self.max_length}"
            )
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class FacetsRecipe(Recipe):
    """The sections of the recipe of facets."""

    task: FacetsSettings = field(default_factory=FacetsSettings)
    """What is learned, and the data that shows it."""
    model: MultiDimensionalSettings = field(default_factory=MultiDimensionalSettings)
    """What is trained."""


RECIPES = (FacetsRecipe,)
