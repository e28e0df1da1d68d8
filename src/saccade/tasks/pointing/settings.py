"""Settings of the tasks of points. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from saccade.fields import Changeable, Checked, Layers, Positive, Size
from saccade.recipe import Recipe
from saccade.search.settings import SearchSettings
from saccade.tasks.pointing.geometry import FEWEST, MOST_ON_TOUR, PointTask


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerSettings(Checked):
    """The pointer network of Vinyals et al. 2015, and the index softmax that it is held against."""

    kind: Literal["pointer"] = "pointer"
    """The kind of model."""
    output: Literal["pointer", "index"] = "pointer"
    """How an element is named: pointer scores the elements themselves, however many there are; index has a fixed output
    for each position and reads the elements by attention."""
    choices: Literal["free", "once", "all"] = "once"
    """What may be pointed at: free, any element at any step (the paper); once, none that was pointed at before; all,
    nor the stop before every element was."""
    num_positions: Size = 50
    """output = "index": elements of the largest set; larger ones are refused."""
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """The recurrent cell."""
    layers: Layers = 1
    """Layers of the encoder, and of the decoder."""
    d_model: Size = 128
    """Size of all states."""
    bidirectional: bool = False
    """The encoder reads in both directions, with half of d_model each."""

    def conflicts(self) -> Iterator[str]:
        if self.bidirectional and self.d_model % 2:
            yield f"d_model must be even for a bidirectional encoder, not {self.d_model}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PointsSettings(Checked):
    """Sets that are put in order by pointing at their elements: numbers and points of the plane, between 0 and 1."""

    RANGES = (("smallest", "largest"),)

    kind: PointTask = "sort"
    """The task: sort numbers; name the corners of the convex hull of points, counter-clockwise; find the shortest tour
    through points."""
    batch: Positive = 128
    """Sets of a batch."""
    smallest: Positive = 5
    """Elements of the smallest set."""
    largest: Positive = 10
    """Elements of the largest set."""
    test_sizes: tuple[Positive, ...] = (5, 10, 12)
    """Sizes that a finished model is measured at, also beyond `largest`."""

    def conflicts(self) -> Iterator[str]:
        least = 1 if self.kind == "sort" else FEWEST
        most = MOST_ON_TOUR if self.kind == "tour" else None
        for name, size in (("smallest", self.smallest), *(("test_sizes", size) for size in self.test_sizes)):
            if size < least:
                yield f'{name} must be at least {least} with kind = "{self.kind}", not {size}'
        for name, size in (("largest", self.largest), *(("test_sizes", size) for size in self.test_sizes)):
            if most is not None and size > most:
                yield (
                    f'{name} must be at most {most} with kind = "{self.kind}", whose answers are found by trying, '
                    f"not {size}"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class PointingRecipe(Recipe):
    """The sections of the recipe of sorting, hulls and tours."""

    task: PointsSettings = field(default_factory=PointsSettings)
    model: PointerSettings = field(default_factory=PointerSettings)
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How the finished model searches unless told otherwise."""


RECIPES = (PointingRecipe,)
