"""Sequences of things that have a colour and a form. Wanted are the colour of the thing behind one marker, and the
form of the thing behind another: one vector is to carry both, each from another place.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.tasks.facets.settings import FacetsSettings

PAD, COLOUR_MARKER, FORM_MARKER = 0, 1, 2
FIRST_THING = 3
"""Thing n has colour n // num_values and form n % num_values."""


@dataclass(frozen=True, slots=True)
class Facets:
    """Sequences with the two answers."""

    words: Int[Tensor, "batch words"]
    mask: Bool[Tensor, "batch words"]
    label: Int[Tensor, "batch 2"]
    """A colour, and a form."""

    @property
    def num_targets(self) -> int:
        """Two for each sequence."""
        return self.label.numel()

    def to(self, device: torch.device) -> "Facets":
        """The same on another device."""
        return Facets(*(getattr(self, field.name).to(device) for field in fields(self)))


def num_tokens(task: FacetsSettings) -> int:
    """Of the vocabulary."""
    return FIRST_THING + task.num_values**2


def spelled(task: FacetsSettings, word: int) -> str:
    """A word as people read it."""
    if word < FIRST_THING:
        return ("<pad>", "colour:", "form:")[word]
    colour, form = divmod(word - FIRST_THING, task.num_values)
    return f"c{colour}f{form}"


def draw(task: FacetsSettings, random: np.random.Generator, count: int) -> Facets:
    """So many sequences; the two things that are asked about are never the same one."""
    lengths = random.integers(task.min_length, task.max_length + 1, count)
    words = np.full((count, task.max_length + 2), PAD)
    label = np.empty((count, 2), dtype=np.int64)
    for row, length in enumerate(lengths):
        things = random.integers(0, task.num_values**2, length)
        colour, form = random.choice(length, 2, replace=False)
        label[row] = things[colour] // task.num_values, things[form] % task.num_values
        told: list[int] = []
        for place, thing in enumerate(things):
            told += [marker for marker, at in ((COLOUR_MARKER, colour), (FORM_MARKER, form)) if at == place]
            told.append(FIRST_THING + int(thing))
        words[row, : len(told)] = told
    return Facets(*map(torch.from_numpy, (words, words != PAD, label)))
