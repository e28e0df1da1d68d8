"""Examples side by side in padded tensors, with masks that say what is real."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.text.tokenizer import BOS, EOS, PAD

Padded = TypeVar("Padded", bound="Sources")  # not Self, which the shape checks of the tests do not know


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources to be encoded."""

    source: Int[Tensor, "batch source"]
    """Token ids, each sequence closed by EOS."""
    source_mask: Bool[Tensor, "batch source"]
    """True where there is a token."""

    def to(self: Padded, device: torch.device) -> Padded:
        """The same on another device."""
        moved = {field.name: getattr(self, field.name).to(device) for field in fields(self)}
        return replace(self, **moved)


@dataclass(frozen=True, slots=True)
class Batch(Sources):
    """Sources with their known targets, to learn from."""

    prefix: Int[Tensor, "batch target"]
    """What the decoder reads: BOS, then the target."""
    target: Int[Tensor, "batch target"]
    """What it should say: the target, then EOS."""
    target_mask: Bool[Tensor, "batch target"]
    """True where there is a token to say."""

    def parts(self, number: int) -> list["Batch"]:
        """The examples dealt out to so many batches or fewer, each only as wide as it must be."""
        size = -(-len(self.source) // number)
        return [self._rows(start, start + size) for start in range(0, len(self.source), size)]

    def _rows(self, start: int, end: int) -> "Batch":
        source = int(self.source_mask[start:end].sum(dim=1).max())
        target = int(self.target_mask[start:end].sum(dim=1).max())
        return Batch(
            self.source[start:end, :source],
            self.source_mask[start:end, :source],
            self.prefix[start:end, :target],
            self.target[start:end, :target],
            self.target_mask[start:end, :target],
        )


Ids = Sequence[int] | np.ndarray


def collate_sources(sources: Sequence[Ids]) -> Sources:
    """Pad sources to the longest of them."""
    source, lengths = _pad(sources, last=EOS)
    return Sources(source, _mask(source, lengths))


def collate(sources: Sequence[Ids], targets: Sequence[Ids]) -> Batch:
    """Pad examples to the longest source and the longest target."""
    source, source_lengths = _pad(sources, last=EOS)
    target, target_lengths = _pad(targets, last=EOS)
    prefix, _ = _pad(targets, first=BOS)
    return Batch(source, _mask(source, source_lengths), prefix, target, _mask(target, target_lengths))


def _pad(sequences: Sequence[Ids], *, first: int | None = None, last: int | None = None) -> tuple[Tensor, np.ndarray]:
    """All sequences in one array, with `first` before and `last` after each; and their lengths with those."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
    padded = np.full((len(sequences), int(lengths.max()) + 1), PAD, dtype=np.int64)
    offset = 0 if first is None else 1
    for row, sequence in zip(padded, sequences, strict=True):
        row[offset : offset + len(sequence)] = sequence
    if first is not None:
        padded[:, 0] = first
    if last is not None:
        padded[np.arange(len(sequences)), lengths] = last
    return torch.from_numpy(padded), lengths + 1


def _mask(padded: Tensor, lengths: np.ndarray) -> Tensor:
    return torch.arange(padded.shape[1]) < torch.from_numpy(lengths)[:, None]
