"""Self-attention over the places of a feature map (SAGAN, Zhang et al. 2019, §3): each sees all others."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.attention import Attended, Memory
from saccade.nn.capture import AttentionModule, active_capture
from saccade.nn.normalise import masked_softmax


class MapAttention(AttentionModule):
    """y = γo + x with o_j = Σ_i softmax_i(f(x_i)ᵀg(x_j)) h(x_i); γ starts at 0, so that local evidence comes first.

    f and g have an eighth of the channels. Scores are not divided by anything, as in the paper.
    """

    kind = "image"

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(1, channels // 8)
        self.keys, self.queries = nn.Conv2d(channels, inner, 1), nn.Conv2d(channels, inner, 1)
        self.values, self.output = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(
        self, features: Float[Tensor, "batch channels grid_rows grid_columns"]
    ) -> Float[Tensor, "batch channels grid_rows grid_columns"]:
        """The map, and what each of its places reads of the others."""
        query, memory = self._flat(self.queries(features)), self._memory(features)
        attended = self.attend(query, memory)
        if captured := active_capture():
            captured.record(self, attended.weights)
        read = attended.context[:, 0].mT.reshape(features.shape)
        mixed: Tensor = features + self.gamma * self.output(read)
        return mixed

    @staticmethod
    def attend(query: Float[Tensor, "batch heads query d_key"], memory: Memory) -> Attended:
        """Each place's mixture of all, one operation a line."""
        weights = masked_softmax(query @ memory.keys.mT, None)
        return Attended(weights @ memory.values, weights)

    def _memory(self, features: Tensor) -> Memory:
        return Memory(self._flat(self.keys(features)), self._flat(self.values(features)))

    @staticmethod
    def _flat(features: Tensor) -> Tensor:
        """Places in a row, in one head."""
        return features.flatten(2).mT[:, None]
