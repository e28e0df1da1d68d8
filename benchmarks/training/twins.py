"""What makes our update fast: each trick is a function, and its readable twin can replace it.

They are switched off here, in the process of a benchmark, and not by settings: a training has no reason to.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.functional import dropout, linear
from torch.nn.utils.rnn import pad_sequence

from saccade.data import loader
from saccade.data.batch import Batch
from saccade.data.store import Ragged
from saccade.nn import multihead
from saccade.nn.attention import Memory, attend
from saccade.nn.dropout import Dropout
from saccade.nn.multihead import MultiHeadAttention
from saccade.tasks.translation import loss
from saccade.text.tokenizer import BOS, EOS, PAD
from saccade.training import machine
from saccade.training.loop import Training
from saccade.training.loss import smoothed_loss


@dataclass(frozen=True, slots=True)
class Trick:
    """A fast function, by where it is looked up, and its readable twin."""

    description: str
    owner: object
    name: str
    twin: object

    def disable(self) -> AbstractContextManager[object]:
        """Within this context the twin replaces it."""
        return patch.object(self.owner, self.name, self.twin)


def usual_dropout(self: Dropout, states: Tensor) -> Tensor:
    return dropout(states, self.rate, self.training)


def explicit_attention(query: Tensor, memory: Memory, *, causal: bool = False, dropout: float = 0.0) -> Tensor:
    return attend(query, memory, causal=causal, dropout=dropout).context


def three_products(self: MultiHeadAttention, states: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Memory]:
    weights, biases = self.projection.weight.chunk(3), self.projection.bias.chunk(3)
    queries, keys, values = (
        self._split(linear(states, weight, bias)) for weight, bias in zip(weights, biases, strict=True)
    )
    return queries, Memory(keys, values, mask)


class UnfusedAdam(torch.optim.Adam):
    def __init__(self, *args: object, fused: bool, **settings: object) -> None:
        super().__init__(*args, foreach=True, **settings)  # type: ignore[arg-type]


def tensor_collate(sources: Ragged, targets: Ragged) -> Batch:
    def padded(side: Ragged, first: list[int] = [], last: list[int] = []) -> Tensor:  # noqa: B006 - never changed
        whole = [torch.tensor([*first, *ids, *last]) for ids in side.lists()]
        return pad_sequence(whole, batch_first=True, padding_value=PAD)

    source, target = padded(sources, last=[EOS]), padded(targets, last=[EOS])
    return Batch(source, source != PAD, padded(targets, first=[BOS]), target, target != PAD)


def no_threads(self: Training) -> None:
    """torch's own threads divide every operation."""


TRICKS = {
    "threads": Trick("each thread learns from a part of the batch", Training, "_threads", no_threads),
    "chunks": Trick("loss in chunks, never all scores at once", loss, "smoothed_loss_chunked", smoothed_loss),
    "bytes": Trick("dropout from one random byte an element", Dropout, "forward", usual_dropout),
    "malloc": Trick("freed memory is kept, not given back", machine, "keep_freed_memory", lambda: None),
    "flash": Trick("attention in one kernel", multihead, "attend_fused", explicit_attention),
    "short": Trick("attention over few keys in a handful of products", multihead, "is_short", lambda *arguments: False),
    "projection": Trick(
        "queries, keys and values in one product", MultiHeadAttention, "queries_and_memory", three_products
    ),
    "adam": Trick("fused Adam", torch.optim, "Adam", UnfusedAdam),
    "collate": Trick("batches put together in numpy", loader, "collate", tensor_collate),
}
"""By a short name. A new one is a line here; tests/benchmarks/test_twins.py compares every twin with its trick."""
