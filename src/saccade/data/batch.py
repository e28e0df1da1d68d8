"""Examples side by side in padded tensors, with masks that say what is real."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.data.store import Ragged
from saccade.text.tokenizer import BOS, EOS, PAD

Moved = TypeVar("Moved", bound="OnDevice")  # not Self, which the shape checks of the tests do not know


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A batch of any task, whose tensors move together."""

    def to(self: Moved, device: torch.device) -> Moved:
        """The same on another device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in values.items() if isinstance(value, Tensor)})


@dataclass(frozen=True, slots=True)
class Sources(OnDevice):
    """Sources to be encoded."""

    source: Int[Tensor, "batch source"]
    """Token ids, each sequence closed by EOS."""
    source_mask: Bool[Tensor, "batch source"]
    """True where there is a token."""


@dataclass(frozen=True)
class KnownTargets(OnDevice):
    """What is to be said of whatever a batch holds, to learn from."""

    __slots__ = ()
    prefix: Int[Tensor, "batch target"]
    """What the decoder reads: the beginning of sequence, then the target."""
    target: Int[Tensor, "batch target"]
    """What it should say: the target, then its end."""
    target_mask: Bool[Tensor, "batch target"]
    """True where there is something to say."""

    @property
    def num_targets(self) -> int:
        """How much there is to say."""
        return int(self.target_mask.sum())


@dataclass(frozen=True, slots=True)
class Batch(KnownTargets, Sources):
    """Sources with their known targets."""

    def twice(self) -> "Batch":
        """Every example once more, after all of them."""
        return Batch(*(getattr(self, field.name).repeat(2, 1) for field in fields(self)))

    def parts(self, number: int) -> list["Batch"]:
        """The examples dealt out to so many batches or fewer, with about as much work each, as narrow as can be."""
        # A target token counts twice: it also goes through the output layer.
        work = (self.source_mask.sum(dim=1) + 2 * self.target_mask.sum(dim=1)).cumsum(dim=0)
        shares = work[-1] * torch.arange(1, number + 1) / number
        ends = (torch.searchsorted(work, shares) + 1).clamp(max=len(work)).tolist()
        return [self._rows(start, end) for start, end in pairwise(sorted({0, *ends}))]

    def _rows(self, start: int, end: int) -> "Batch":
        masks = (self.source_mask[start:end], self.target_mask[start:end])
        source, target = (int(mask.sum(dim=1).max()) for mask in masks)
        sources = (each[start:end, :source] for each in (self.source, self.source_mask))
        targets = (each[start:end, :target] for each in (self.prefix, self.target, self.target_mask))
        return Batch(*sources, *targets)


Ids = Sequence[int] | np.ndarray


def collate_sources(sources: Sequence[Ids]) -> Sources:
    """Pad sources to the longest of them."""
    source, source_mask = _pad(Ragged.of(sources), last=EOS)
    return Sources(source, source_mask)


def collate(sources: Sequence[Ids] | Ragged, targets: Sequence[Ids] | Ragged) -> Batch:
    """Pad examples to the longest source and the longest target."""
    sources, targets = (side if isinstance(side, Ragged) else Ragged.of(side) for side in (sources, targets))
    source, source_mask = _pad(sources, last=EOS)
    target, target_mask = _pad(targets, last=EOS)
    prefix, _ = _pad(targets, first=BOS)
    return Batch(source, source_mask, prefix, target, target_mask)


def _pad(sequences: Ragged, *, first: int | None = None, last: int | None = None) -> tuple[Tensor, Tensor]:
    """All sequences in one array, with `first` before or `last` after each; and where there is anything."""
    lengths = sequences.lengths[:, None]
    place = np.arange(int(lengths.max()) + 1)
    padded = np.full((len(sequences), len(place)), PAD, dtype=np.int64)
    offset = 0 if first is None else 1
    padded[(place >= offset) & (place < lengths + offset)] = sequences.ids
    if first is not None:
        padded[:, 0] = first
    if last is not None:
        padded[place == lengths] = last
    return torch.from_numpy(padded), torch.from_numpy(place <= lengths)
