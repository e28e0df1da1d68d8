"""Scenes of coloured shapes with questions: which colour is left of, right of, above or below a shape?

Every shape stands in a scene once, so that a question has one answer; neither scene nor question alone gives it away.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.tasks.scenes.settings import ScenesSettings

RELATIONS = ("left of", "right of", "above", "below")
STEPS = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)])
"""From the shape that is named to the cell that is asked for: rows down, columns to the right."""
ASKS, POLITE = 0, 1
"""Words of every question, then come the relations, then the shapes."""
FIRST_RELATION = 2
FIRST_SHAPE = FIRST_RELATION + len(RELATIONS)


@dataclass(frozen=True, slots=True)
class Scenes:
    """Scenes with a question each."""

    colours: Int[Tensor, "batch grid_rows grid_columns"]
    shapes: Int[Tensor, "batch grid_rows grid_columns"]
    question: Int[Tensor, "batch words"]
    """What is asked, a relation and a shape; some begin with a polite word."""
    question_mask: Bool[Tensor, "batch words"]
    label: Int[Tensor, " batch"]
    """The colour that is the answer."""
    place: Int[Tensor, " batch"]
    """The cell that has it, counted row by row: where a model should look."""

    @property
    def num_targets(self) -> int:
        """Each question has one answer."""
        return len(self.label)

    def to(self, device: torch.device) -> "Scenes":
        """The same on another device."""
        return Scenes(*(getattr(self, field.name).to(device) for field in fields(self)))


def num_words(task: ScenesSettings) -> int:
    """Of the questions' vocabulary."""
    return FIRST_SHAPE + task.side**2


def draw(task: ScenesSettings, random: np.random.Generator, count: int) -> Scenes:
    """So many scenes. The cell that is asked for lies within the grid."""
    side = task.side
    colours = random.integers(0, task.num_colours, (count, side, side))
    shapes = random.permuted(np.tile(np.arange(side**2), (count, 1)), axis=1).reshape(count, side, side)
    relation = random.integers(0, len(RELATIONS), count)
    step = STEPS[relation]
    lowest, highest = np.maximum(-step, 0), side - np.maximum(step, 0)  # where the named shape may stand
    named = (lowest + random.random((count, 2)) * (highest - lowest)).astype(int)
    rows, asked = np.arange(count), named + step
    shape = shapes[rows, named[:, 0], named[:, 1]]
    place = asked[:, 0] * side + asked[:, 1]
    question, mask = _questions(relation, shape, random.random(count) < 0.5)
    label = colours[rows, asked[:, 0], asked[:, 1]]
    return Scenes(*map(torch.from_numpy, (colours, shapes, question, mask, label, place)))


def spelled(word: int) -> str:
    """A word of a question as people read it."""
    if word < FIRST_RELATION:
        return ("which colour is", "please,")[word]
    return RELATIONS[word - FIRST_RELATION] if word < FIRST_SHAPE else f"shape{word - FIRST_SHAPE}"


def _questions(relation: np.ndarray, shape: np.ndarray, polite: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In words, padded at the end."""
    words = np.stack([np.full_like(relation, ASKS), FIRST_RELATION + relation, FIRST_SHAPE + shape], axis=1)
    padded = np.concatenate([words, np.zeros_like(words[:, :1])], axis=1)
    padded[polite] = np.concatenate([np.full_like(words[polite][:, :1], POLITE), words[polite]], axis=1)
    mask = np.ones_like(padded, dtype=bool)
    mask[~polite, -1] = False
    return padded, mask
