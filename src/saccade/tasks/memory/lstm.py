"""An LSTM that answers in episodes: what a machine with a memory is held against (Graves et al. 2014, §4)."""

from jaxtyping import Float
from torch import Tensor, nn

from saccade.tasks.memory.episodes import Episodes
from saccade.tasks.memory.settings import LstmSettings


class Lstm(nn.Module):
    """Reads what is shown, and at every step says the logit of each bit; only where an answer is wanted it counts."""

    def __init__(self, settings: LstmSettings, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.settings = settings
        self.layers = nn.LSTM(num_inputs, settings.d_model, settings.layers, batch_first=True)
        self.output = nn.Linear(settings.d_model, num_outputs)

    def forward(self, episodes: Episodes) -> Float[Tensor, "batch steps bits"]:
        """The logit of a one for each bit, at every step."""
        states, _ = self.layers(episodes.inputs)
        logits: Tensor = self.output(states)
        return logits
