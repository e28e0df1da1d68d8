"""Sets to be put in order by pointing at their elements: numbers sorted, corners of a hull, points along a tour.

An answer is a list of positions, so its dictionary is as large as its set: id n is the n-th element, counted from 1,
and 0 is the stop. The same 0 is read before the first answer, when nothing has been pointed at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.batch import KnownTargets, OnDevice
from saccade.tasks.pointing.geometry import Order, Points, PointTask, convex_hull, shortest_tours

STOP = 0
D_INPUT: dict[PointTask, int] = {"sort": 1, "hull": 2, "tour": 2}
"""How many numbers an element has."""


@dataclass(frozen=True, slots=True)
class PointSets(OnDevice):
    """Sets of different sizes, side by side."""

    points: Float[Tensor, "batch source d_input"]
    source_mask: Bool[Tensor, "batch source"]
    """True where there is an element."""

    @property
    def sets(self) -> list[Points]:
        """Each set by itself, without padding."""
        points, mask = self.points.cpu().double().numpy(), self.source_mask.cpu().numpy()
        return [elements[real] for elements, real in zip(points, mask, strict=True)]


@dataclass(frozen=True, slots=True)
class PointBatch(KnownTargets, PointSets):
    """Sets with their answers; 0 stands for the beginning and for the end."""

    @property
    def orders(self) -> list[Order]:
        """Each answer by itself, in positions counted from 0."""
        targets, lengths = self.target.cpu().numpy(), self.target_mask.sum(dim=1).tolist()
        return [target[: length - 1] - 1 for target, length in zip(targets, lengths, strict=True)]


def draw(random: np.random.Generator, count: int, smallest: int, largest: int, d_input: int) -> list[Points]:
    """Elements spread evenly between 0 and 1, as many of them as drawn evenly from `smallest` to `largest`."""
    sizes = random.integers(smallest, largest + 1, size=count)
    return np.split(random.random((int(sizes.sum()), d_input)), sizes.cumsum()[:-1])


def solve(task: PointTask, sets: Sequence[Points]) -> list[Order]:
    """The right answer to each set, in positions counted from 0."""
    match task:
        case "sort":
            return [points[:, 0].argsort(kind="stable") for points in sets]
        case "hull":
            return [convex_hull(points) for points in sets]
        case "tour":
            return _tours(sets)


def collate_sets(sets: Sequence[Points]) -> PointSets:
    """Pad sets to the largest of them, in single precision."""
    sizes = np.array([len(points) for points in sets])
    mask = np.arange(sizes.max()) < sizes[:, None]
    padded = np.zeros((*mask.shape, sets[0].shape[1]), dtype=np.float32)
    padded[mask] = np.concatenate(sets)
    return PointSets(torch.from_numpy(padded), torch.from_numpy(mask))


def collate(sets: Sequence[Points], orders: Sequence[Order | Sequence[int]]) -> PointBatch:
    """Pad sets and answers, which are positions counted from 0."""
    padded, lengths = collate_sets(sets), np.array([len(order) for order in orders])[:, None]
    place = np.arange(lengths.max() + 1)
    target = np.full((len(sets), len(place)), STOP)
    target[place < lengths] = np.concatenate(orders) + 1
    prefix = np.roll(target, 1, axis=1)  # what comes round from the end is a stop, or padding that looks like one
    mask = place <= lengths
    return PointBatch(padded.points, padded.source_mask, *map(torch.from_numpy, (prefix, target, mask)))


def _tours(sets: Sequence[Points]) -> list[Order]:
    """Tours of the same size are looked for together."""
    found: dict[int, NDArray[np.int64]] = {}
    sizes = np.array([len(points) for points in sets])
    for size in np.unique(sizes):
        rows = (sizes == size).nonzero()[0]
        found.update(zip(rows.tolist(), shortest_tours(np.stack([sets[row] for row in rows])), strict=True))
    return [found[row] for row in range(len(sets))]
