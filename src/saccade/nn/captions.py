"""The decoder of Show, Attend and Tell (Xu et al. 2015, §3.1.2): an LSTM that looks at an image before every word."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from saccade.nn.attention import Memory
from saccade.nn.axes import Mask, TargetStates
from saccade.nn.dropout import Dropout
from saccade.nn.layers import init_xavier
from saccade.nn.masks import mean_of
from saccade.nn.recurrent import Decoded, OneVector, Reader, Recurrence, RecurrentShape, RecurrentState, joined

Hidden = Float[Tensor, "batch d_model"]


@dataclass(frozen=True, slots=True)
class CaptionState:
    """What decoding carries from step to step."""

    recurrent: RecurrentState
    image: Memory
    """The cells of the image; never change."""

    def pick(self, rows: Int[Tensor, " picked"]) -> "CaptionState":
        return CaptionState(self.recurrent.pick(rows), self.image.pick(rows))


class MeanVector(OneVector):
    """No attention: every step reads the mean of all cells (Vinyals et al. 2015 read as much, and once only)."""

    def memory(self, states: Float[Tensor, "batch key d_value"], mask: Mask | None) -> Memory:
        """A memory of a single key."""
        vector = mean_of(states, mask)[:, None]
        return Memory(vector, vector)


class ShowAttendTell(nn.Module):
    """Soft, hard or no attention, as its reader has it; all else is the same.

    Each step reads ẑ = β Σᵢ αᵢ aᵢ with the gate β = σ(f_β(h)), one number (§4.2.1); the LSTM goes on with [Ey; ẑ], and
    what may follow is told by L_o(Ey + L_h h + L_z ẑ) (eq. 7), where L_o is the model's output layer.
    """

    def __init__(self, shape: RecurrentShape, reader: Reader, d_image: int) -> None:
        super().__init__()
        d_model = shape.d_model
        self.cross_attention = reader
        self.first_hidden, self.first_cell = nn.Linear(d_image, d_model), nn.Linear(d_image, d_model)
        self.gate = nn.Linear(d_model, 1)
        self.recurrence = Recurrence(shape, d_model + d_image)
        self.of_hidden, self.of_context = nn.Linear(d_model, d_model), nn.Linear(d_image, d_model)
        self.dropout = Dropout(shape.dropout)
        init_xavier(self.first_hidden, self.first_cell, self.gate, self.of_hidden, self.of_context)
        nn.init.constant_(self.gate.bias, 3.0)  # open at first

    def start(self, cells: Float[Tensor, "batch key d_image"], mask: Mask | None = None) -> CaptionState:
        """h₀ and c₀ are told by the mean of the cells, through tanh as in the authors' code."""
        mean = mean_of(cells, mask)
        real = torch.ones(cells.shape[:2], dtype=torch.bool, device=cells.device) if mask is None else mask
        first = RecurrentState(self.first_hidden(mean).tanh()[None], self.first_cell(mean).tanh()[None])
        return CaptionState(first, self.cross_attention.memory(cells, real))

    def forward(self, embedded: TargetStates, state: CaptionState) -> tuple[Decoded, CaptionState]:
        """All positions of `embedded`, one or many, from this state on."""
        assert state.recurrent.cell is not None
        hidden, cell, reads, outputs = state.recurrent.hidden[0], state.recurrent.cell[0], [], []
        step = Stepping(self.recurrence.stack, embedded)
        for position in range(embedded.shape[1]):
            query = hidden[:, None]
            read = self.cross_attention(query, state.image)
            read = read._replace(context=self.gate(query).sigmoid() * read.context)
            hidden, cell = step(position, read.context[:, 0], hidden, cell)
            reads.append(read)
            outputs.append(hidden)
        read = joined(reads)
        states = self.dropout(torch.stack(outputs, dim=1))
        spoken = embedded + self.of_hidden(states) + self.of_context(read.context)
        return Decoded(self.dropout(spoken), read), replace(state, recurrent=RecurrentState(hidden[None], cell[None]))


class Stepping:
    """An LSTM of one layer, position by position: what is known of all positions is read in one product beforehand.

    The twin is the LSTM itself, which prepares its parameters anew in every call: that takes longer than a position.
    """

    def __init__(self, stack: nn.RNNBase, embedded: TargetStates) -> None:
        of_input, of_hidden, *biases = stack.all_weights[0]
        d_known = embedded.shape[-1]
        self.of_known = linear(embedded, of_input[:, :d_known], biases[0] + biases[1]).unbind(dim=1)
        self.of_context, self.of_hidden = of_input[:, d_known:].t(), of_hidden.t()

    def __call__(
        self, position: int, context: Float[Tensor, "batch d_image"], hidden: Hidden, cell: Hidden
    ) -> tuple[Hidden, Hidden]:
        gates = torch.addmm(self.of_known[position], context, self.of_context).addmm(hidden, self.of_hidden)
        into, keep, new, out = gates.chunk(4, dim=1)  # torch's order
        cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
        return out.sigmoid() * cell.tanh(), cell
