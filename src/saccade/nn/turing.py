"""The Neural Turing Machine (Graves et al. 2014, §3): a controller, and heads that read and write a memory.

All that changes is in a `MachineState` that is handed in and out; nothing is kept on modules.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.addressing import LARGEST, Addressing
from saccade.nn.axes import ControllerStates, HeadWeights, Keys
from saccade.nn.layers import init_xavier

HeadVectors = Float[Tensor, "batch heads d_key"]
Carried = tuple[ControllerStates, ...]
BLANK = 1e-6
"""What a memory holds at first: with it, machines learn sooner than with random numbers (Collier & Beel 2018)."""


@dataclass(frozen=True, slots=True)
class MachineState:
    """A machine between two steps."""

    memory: Keys
    reading: HeadWeights
    """The weights of the heads that read."""
    writing: Float[Tensor, "batch write_heads key"]
    """The weights of the heads that write."""
    context: Float[Tensor, "batch contexts"]
    """What was read, all heads end to end."""
    controller: Carried
    """What the controller carries itself."""


class FeedForwardController(nn.Module):
    """tanh(Wx + b): remembers nothing, so that all must go through the memory."""

    def __init__(self, d_input: int, d_controller: int) -> None:
        super().__init__()
        self.layer = nn.Linear(d_input, d_controller)

    def start(self, batch: int) -> Carried:
        return ()

    def forward(self, seen: Float[Tensor, "batch d_input"], carried: Carried) -> tuple[ControllerStates, Carried]:
        return self.layer(seen).tanh(), carried


class LstmController(nn.Module):
    """A layer of long short-term memory; its first state is learned."""

    def __init__(self, d_input: int, d_controller: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(d_input, d_controller)
        self.first = nn.Parameter(torch.zeros(2, d_controller))

    def start(self, batch: int) -> Carried:
        """State and cell, the same for all."""
        hidden, cell = self.first
        return hidden.expand(batch, -1), cell.expand(batch, -1)

    def forward(self, seen: Float[Tensor, "batch d_input"], carried: Carried) -> tuple[ControllerStates, Carried]:
        hidden, cell = self.cell(seen, carried)
        return hidden, (hidden, cell)


Controller = FeedForwardController | LstmController


class Writing(nn.Module):
    """Heads that erase and add (§3.2)."""

    def __init__(self, addressing: Addressing, d_controller: int, d_key: int) -> None:
        super().__init__()
        self.addressing = addressing
        self.of_controller = nn.Linear(d_controller, addressing.num_heads * 2 * d_key)
        init_xavier(self.of_controller)

    def forward(self, controller: ControllerStates, memory: Keys, previous: HeadWeights) -> tuple[Keys, HeadWeights]:
        """The memory after it, and where was written."""
        weights = self.addressing(controller, memory, previous)
        outputs = self.of_controller(controller).clamp(-LARGEST, LARGEST)
        erased, added = outputs.unflatten(-1, (2, self.addressing.num_heads, -1)).unbind(dim=1)
        return write(memory, weights, erased.sigmoid(), added.tanh()), weights


def write(memory: Keys, weights: HeadWeights, erased: HeadVectors, added: HeadVectors) -> Keys:
    """M(1 - we) + wa (eq. 3–4): every head erases before any adds, so that their order does not matter."""
    kept = memory
    for weight, erase in zip(weights.unbind(dim=1), erased.unbind(dim=1), strict=True):
        kept = kept * (1 - weight[:, :, None] * erase[:, None])
    return torch.baddbmm(kept, weights.mT, added)


class TuringMachine(nn.Module):
    """One step of a machine: the controller sees, heads write, and heads read what the next step will see."""

    def __init__(self, controller: Controller, reading: Addressing, writing: Writing, *, rows: int, d_key: int) -> None:
        super().__init__()
        self.controller = controller
        self.reading = reading
        self.writing = writing
        self.rows, self.d_key = rows, d_key
        self.first = nn.Parameter(torch.zeros(reading.num_heads * d_key))

    def start(self, batch: int) -> MachineState:
        """A blank memory with every head on its first row."""
        blank = self.first.new_full((batch, self.rows, self.d_key), BLANK)
        on_first = self.first.new_zeros(batch, 1, self.rows)
        on_first[:, :, 0] = 1
        return MachineState(
            blank,
            on_first.expand(-1, self.reading.num_heads, -1),
            on_first.expand(-1, self.writing.addressing.num_heads, -1),
            self.first.expand(batch, -1),
            self.controller.start(batch),
        )

    def forward(
        self, inputs: Float[Tensor, "batch d_input"], state: MachineState
    ) -> tuple[ControllerStates, MachineState]:
        """The controller's state, and the machine after this step; what was read is in it."""
        seen = torch.cat([inputs, state.context], dim=-1)
        controller, carried = self.controller(seen, state.controller)
        memory, writing = self.writing(controller, state.memory, state.writing)
        reading = self.reading(controller, memory, state.reading)
        context = (reading @ memory).flatten(1)
        return controller, MachineState(memory, reading, writing, context, carried)
