"""Pairs of a key and a value, and a key whose value is wanted: a dictionary that is new in every example."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.tasks.generated import Labelled
from saccade.tasks.lookup.settings import LookupSettings


@dataclass(frozen=True, slots=True)
class Lookups(Labelled):
    """Examples side by side."""

    keys: Int[Tensor, "batch key"]
    values: Int[Tensor, "batch key"]
    mask: Bool[Tensor, "batch key"]
    """True where there is a pair."""
    query: Int[Tensor, " batch"]
    """A key of the example."""
    label: Int[Tensor, " batch"]
    """Its value."""


def draw(task: LookupSettings, random: np.random.Generator, count: int) -> Lookups:
    """`count` examples. Keys and values are paired at random, so that neither tells anything of the other."""
    rows, places = np.arange(count), np.arange(task.max_pairs)
    lengths = random.integers(task.min_pairs, task.max_pairs + 1, count)
    keys = random.permuted(np.tile(np.arange(task.num_keys), (count, 1)), axis=1)[:, : task.max_pairs]
    values = random.integers(0, task.num_values, keys.shape)
    asked = random.integers(0, lengths)
    arrays = keys, values, places < lengths[:, None], keys[rows, asked], values[rows, asked]
    return Lookups(*map(torch.from_numpy, arrays))
