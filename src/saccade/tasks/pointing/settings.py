"""Settings of the tasks of points. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.geometry import FEWEST, MOST_ON_TOUR
from saccade.tasks.pointing.model_settings import PointerSettings

PointTask = Literal["sort", "hull", "tour"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PointsSettings:
    """Sets that are put in order by pointing at their elements: numbers and points of the plane, between 0 and 1."""

    kind: PointTask = "sort"
    """The task: sort numbers; name the corners of the convex hull of points, counter-clockwise; find the shortest tour
    through points."""
    batch: int = 128
    """Sets of a batch."""
    smallest: int = 5
    """Elements of the smallest set."""
    largest: int = 10
    """Elements of the largest set."""
    test_sizes: tuple[int, ...] = (5, 10, 12)
    """Sizes that a finished model is measured at, also beyond `largest`."""

    def __post_init__(self) -> None:
        problems = []
        if self.batch < 1:
            problems.append(f"batch must be at least 1, not {self.batch}")
        if self.largest < self.smallest:
            problems.append(f"largest must be at least smallest, which is {self.smallest}, not {self.largest}")
        least = 1 if self.kind == "sort" else FEWEST
        most = MOST_ON_TOUR if self.kind == "tour" else None
        for name, size in (("smallest", self.smallest), *(("test_sizes", size) for size in self.test_sizes)):
            if size < least:
                problems.append(f'{name} must be at least {least} with kind = "{self.kind}", not {size}')
        for name, size in (("largest", self.largest), *(("test_sizes", size) for size in self.test_sizes)):
            if most is not None and size > most:
                problems.append(
                    f'{name} must be at most {most} with kind = "{self.kind}", whose answers are found by trying, '
                    f"not {size}"
                )
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class PointingRecipe(Recipe):
    """The sections of the recipe of sorting, hulls and tours."""

    task: PointsSettings = field(default_factory=PointsSettings)
    """What is learned, and the data that shows it."""
    model: PointerSettings = field(default_factory=PointerSettings)
    """What is trained."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How the finished model searches unless told otherwise."""


RECIPES = (PointingRecipe,)
