"""The pointer network (Vinyals et al. 2015): reads a set element by element, and answers by pointing at them."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot

from saccade.nn.attention import Memory, real_keys
from saccade.nn.axes import Mask, RowTokens, SourceStates
from saccade.nn.pointer import IndexScores, PointerScores
from saccade.nn.recurrent import Recurrence, RecurrentEncoder, RecurrentShape, RecurrentState
from saccade.tasks.pointing.points import STOP, PointBatch, PointSets
from saccade.tasks.pointing.settings import PointerSettings


@dataclass(frozen=True, slots=True)
class PointerState:
    """What the encoder hands over, and decoding carries from step to step. Key 0 is the stop, key n the n-th element:
    ids are keys.
    """

    recurrent: RecurrentState
    embedded: Float[Tensor, "batch key d_model"]
    """What the decoder reads once it has pointed there; for key 0, before it has pointed anywhere."""
    memory: Memory
    """The set as it is pointed at; never changes, nor does `embedded`."""
    taken: Mask
    """True where the decoder has pointed before."""


class PointerNetwork(nn.Module):
    """Keeps `Decodes` of protocol.py, though each set has a dictionary of its own size: what lies beyond it is -inf."""

    def __init__(self, settings: PointerSettings, d_input: int) -> None:
        super().__init__()
        self.settings = settings
        d_model = settings.d_model
        shape = RecurrentShape(cell=settings.cell, d_model=d_model, num_layers=settings.layers, dropout=0.0)
        self.embedding = nn.Linear(d_input, d_model)
        self.nothing_yet = nn.Parameter(torch.randn(d_model) * d_model**-0.5)
        self.stop = nn.Parameter(torch.randn(d_model) * d_model**-0.5)
        self.encoder = RecurrentEncoder(shape, bidirectional=settings.bidirectional)
        self.recurrence = Recurrence(shape, d_model)
        self.cross_attention: PointerScores | IndexScores
        if settings.output == "pointer":
            self.cross_attention = PointerScores(d_model, d_model, d_model)
        else:
            self.cross_attention = IndexScores(d_model, d_model, d_model, settings.num_positions)

    def encode(self, sets: PointSets) -> PointerState:
        embedded = self.embedding(sets.points)
        encoded = self.encoder(embedded, sets.source_mask)
        mask = nn.functional.pad(sets.source_mask, (1, 0), value=True)
        memory = self.cross_attention.memory(_behind(self.stop, encoded.states), mask)
        return PointerState(encoded.last, _behind(self.nothing_yet, embedded), memory, torch.zeros_like(mask))

    def forward(self, batch: PointBatch) -> Float[Tensor, "batch target key"]:
        """Teacher forcing: the logits of every element at every position of a known answer, in one go."""
        state = self.encode(batch)
        embedded = state.embedded.take_along_dim(batch.prefix[:, :, None], dim=1)
        hidden, _ = self.recurrence(embedded, state.recurrent)
        taken = one_hot(batch.prefix, state.taken.shape[1]).cumsum(dim=1) > 0
        logits: Tensor = self.cross_attention(hidden, state.memory, self._out_of_reach(taken, state.memory))
        return logits

    def start(self, memory: PointerState) -> PointerState:
        """Nothing has been pointed at."""
        return memory

    def step(self, last: RowTokens, state: PointerState) -> tuple[Float[Tensor, "rows vocab"], PointerState]:
        """Read the element that every row has pointed at, and say which may follow."""
        rows = torch.arange(len(last), device=last.device)
        hidden, recurrent = self.recurrence(state.embedded[rows, last][:, None], state.recurrent)
        taken = state.taken.scatter(1, last[:, None], True)
        logits = self.cross_attention(hidden, state.memory, self._out_of_reach(taken[:, None], state.memory))
        return logits[:, 0].log_softmax(dim=-1), replace(state, recurrent=recurrent, taken=taken)

    def pick(self, state: PointerState, rows: Int[Tensor, " picked"]) -> PointerState:
        return PointerState(
            state.recurrent.pick(rows),
            state.embedded.index_select(0, rows),
            state.memory.pick(rows),
            state.taken.index_select(0, rows),
        )

    def _out_of_reach(
        self, taken: Bool[Tensor, "batch query key"], memory: Memory
    ) -> Bool[Tensor, "batch query key"] | None:
        """What the settings do not let be pointed at, by what has been pointed at before."""
        if self.settings.choices == "free":
            return None
        is_left = ~taken & real_keys(memory)[:, None]
        to_come = is_left[..., STOP + 1 :].any(dim=-1, keepdim=True)
        stops = to_come if self.settings.choices == "all" else torch.zeros_like(to_come)
        return torch.cat([stops, taken[..., STOP + 1 :]], dim=-1)


def _behind(first: Float[Tensor, " d_model"], others: SourceStates) -> Tensor:
    """One vector before those of the elements."""
    return torch.cat([first.expand(len(others), 1, -1), others], dim=1)
