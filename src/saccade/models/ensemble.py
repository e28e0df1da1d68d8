"""Models that were trained apart and translate together, each with its own source vocabulary."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from saccade.data.batch import Batch, Sources, collate_sources
from saccade.models.build import Model
from saccade.search.ensemble import Each, Ensemble, log_mean

Reader = Callable[[list[int]], list[int]]
"""What the first member reads, as another one does: the same text in the ids of its own vocabulary."""
Read = TypeVar("Read", bound=Sources)


class EnsembleModel(nn.Module, Ensemble):
    """Keeps `Decodes`. Sources come in the ids of the first member; those who need it have a reader, or else None."""

    def __init__(self, members: Sequence[Model], readers: Sequence[Reader | None]) -> None:
        super().__init__()
        Ensemble.__init__(self, members)
        self._modules_of_members = nn.ModuleList(members)
        self._models, self._readers = tuple(members), tuple(readers)

    def encode(self, sources: Sources) -> Each:
        """Every member reads the source once."""
        return tuple(
            member.encode(_read(sources, reader)) for member, reader in zip(self._models, self._readers, strict=True)
        )

    def forward(self, batch: Batch) -> Float[Tensor, "batch target vocab"]:
        """Teacher forcing: what all of them together say at every position of a known target."""
        said = []
        for member, reader in zip(self._models, self._readers, strict=True):
            said.append(member.logits(member(_read(batch, reader))).log_softmax(dim=-1))
        return log_mean(said)

    def logits(self, hidden: Float[Tensor, "*positions vocab"]) -> Float[Tensor, "*positions vocab"]:
        """What `forward` says is in no need of an output layer."""
        return hidden


def _read(sources: Read, reader: Reader | None) -> Read:
    if reader is None:
        return sources
    lengths = (sources.source_mask.sum(dim=1) - 1).tolist()  # without the end, which is put there again
    ids = [reader(row[:length]) for row, length in zip(sources.source.tolist(), lengths, strict=True)]
    read: Any = collate_sources(ids).to(sources.source.device)
    return replace(sources, source=read.source, source_mask=read.source_mask)
