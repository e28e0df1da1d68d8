"""The Neural Turing Machine, and the LSTM that it is held against (Graves et al. 2014, §4): they answer in episodes."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.errors import DataError
from saccade.nn.addressing import Addressing, Parts
from saccade.nn.turing import FeedForwardController, LstmController, TuringMachine, Writing
from saccade.tasks.memory.episodes import Episodes
from saccade.tasks.memory.settings import LstmSettings, TuringSettings


class Turing(nn.Module):
    """Reads what is shown, and at every step says the logit of each bit; only where an answer is wanted it counts."""

    def __init__(self, settings: TuringSettings, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.settings = settings
        d_controller, d_row = settings.d_controller, settings.d_row
        d_contexts = settings.read_heads * d_row
        parts = Parts(d_row, settings.reach, settings.interpolates, settings.sharpens)
        controller = FeedForwardController if settings.controller == "feed-forward" else LstmController
        self.machine = TuringMachine(
            controller(num_inputs + d_contexts, d_controller),
            Addressing(d_controller, parts, settings.read_heads),
            Writing(Addressing(d_controller, parts, settings.write_heads), d_controller, d_row),
            rows=settings.rows,
            d_key=d_row,
        )
        self.output = nn.Linear(d_controller + d_contexts, num_outputs)

    def forward(self, episodes: Episodes) -> Float[Tensor, "batch steps bits"]:
        if episodes.num_remembered > self.settings.rows:
            raise DataError(
                f"A memory needs a row for each of the {episodes.num_remembered} things that an episode wants "
                f"remembered, but has {self.settings.rows}. Train a machine with model.rows = "
                f"{episodes.num_remembered} or more, or give it shorter episodes."
            )
        state, said = self.machine.start(len(episodes.inputs)), []
        for inputs in episodes.inputs.unbind(dim=1):
            controller, state = self.machine(inputs, state)
            said += [controller, state.context]
        steps = torch.cat(said, dim=-1).view(*episodes.inputs.shape[:2], -1)
        logits: Tensor = self.output(steps)
        return logits


class Lstm(nn.Module):
    """The same without a memory: it keeps what it saw in its state."""

    def __init__(self, settings: LstmSettings, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.settings = settings
        self.layers = nn.LSTM(num_inputs, settings.d_model, settings.layers, batch_first=True)
        self.output = nn.Linear(settings.d_model, num_outputs)

    def forward(self, episodes: Episodes) -> Float[Tensor, "batch steps bits"]:
        states, _ = self.layers(episodes.inputs)
        logits: Tensor = self.output(states)
        return logits
