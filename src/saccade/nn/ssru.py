"""The Simpler Simple Recurrent Unit (Kim et al. 2019, "From Research to Production and Back"), in a decoder layer.

    f = σ(xW_f + b_f);  c' = f ∘ c + (1 - f) ∘ xW;  y = max(0, c')

It stands where a Transformer's decoder looks back at what was said. Its whole memory of that is c, one vector: a step
costs the same at every position. All products are of the inputs alone, so that a whole target needs a loop over the
elementwise rest only.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from saccade.nn.attention import Memory
from saccade.nn.axes import TargetStates
from saccade.nn.transformer import DecoderLayer, LayerShape


@dataclass(frozen=True, slots=True)
class Cell:
    """What an SSRU remembers of each row."""

    cell: Float[Tensor, "rows d_model"]

    def pick(self, rows: Int[Tensor, " picked"]) -> "Cell":
        """That of these rows, in this order."""
        return Cell(self.cell.index_select(0, rows))


class SSRU(nn.Module):
    """One layer of it."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        # W and W_f stand below each other, so that both products are one.
        self.weight = nn.Parameter(torch.empty(2 * d_model, d_model))
        self.forget_bias = nn.Parameter(torch.zeros(d_model))
        for matrix in self.weight.detach().chunk(2):
            nn.init.xavier_uniform_(matrix)

    def forward(self, states: TargetStates, past: Cell) -> tuple[TargetStates, Cell]:
        """All positions of `states`, one or many, from this cell on."""
        bias = pad(self.forget_bias, (states.shape[-1], 0))
        new, gate = linear(states, self.weight, bias).to(states.dtype).chunk(2, dim=-1)  # autocast must not round cells
        cell, cells = past.cell, []
        for now, forget in zip(new.unbind(1), gate.sigmoid().unbind(1), strict=True):
            cell = torch.lerp(now, cell, forget)
            cells.append(cell)
        return torch.stack(cells, dim=1).relu(), Cell(cell)


class SSRUDecoderLayer(DecoderLayer[Cell]):
    """A recurrent cell reads what was said; then every position looks at the source, then thinks by itself."""

    def add_recall(self, shape: LayerShape) -> None:
        self.recurrence = SSRU(shape.d_model)

    def nothing_said(self, source: Memory) -> Cell:
        batch, heads, _, d_head = source.keys.shape
        return Cell(source.keys.new_zeros(batch, heads * d_head))

    def recall(self, states: TargetStates, past: Cell | None) -> tuple[TargetStates, Cell]:
        return self.recurrence(states, past or Cell(torch.zeros_like(states[:, 0])))  # type: ignore[no-any-return]
