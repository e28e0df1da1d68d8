"""The Neural Turing Machine as a model that answers in episodes."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.data.tasks.episodes import Episodes
from saccade.errors import DataError
from saccade.models.turing_settings import TuringSettings
from saccade.nn.addressing import Addressing
from saccade.nn.turing import FeedForwardController, LstmController, TuringMachine, Writing


class Turing(nn.Module):
    """Reads what is shown, and at every step says the logit of each bit; only where an answer is wanted it counts."""

    def __init__(self, settings: TuringSettings, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.settings = settings
        d_controller, d_row = settings.d_controller, settings.d_row
        d_contexts = settings.read_heads * d_row
        controller = LstmController if settings.controller == "lstm" else FeedForwardController
        self.machine = TuringMachine(
            controller(num_inputs + d_contexts, d_controller),
            self._addressing(settings.read_heads),
            Writing(self._addressing(settings.write_heads), d_controller, d_row),
            rows=settings.rows,
            d_key=d_row,
        )
        self.output = nn.Linear(d_controller + d_contexts, num_outputs)

    def forward(self, episodes: Episodes) -> Float[Tensor, "batch steps bits"]:
        """The logit of a one for each bit, at every step."""
        if episodes.num_remembered > self.settings.rows:
            raise DataError(
                f"A memory needs a row for each of the {episodes.num_remembered} things that an episode wants "
                f"remembered, but has {self.settings.rows}. Train a machine with model.rows = "
                f"{episodes.num_remembered} or more, or give it shorter episodes."
            )
        batch, steps, _ = episodes.inputs.shape
        state, said = self.machine.start(batch), []
        for inputs in episodes.inputs.unbind(dim=1):
            controller, state = self.machine(inputs, state)
            said += [controller, state.context]
        logits: Tensor = self.output(torch.cat(said, dim=-1).view(batch, steps, -1))
        return logits

    def _addressing(self, num_heads: int) -> Addressing:
        settings = self.settings
        return Addressing(
            settings.d_controller,
            settings.d_row,
            num_heads=num_heads,
            reach=settings.reach,
            interpolates=settings.interpolates,
            sharpens=settings.sharpens,
        )
