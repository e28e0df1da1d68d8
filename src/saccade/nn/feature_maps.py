"""Self-attention over the places of a feature map (SAGAN, Zhang et al. 2019, §3): each sees all others."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

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
        maps = (self.queries(features), self.keys(features), self.values(features))
        queries, keys, values = (places.flatten(2).mT[:, None] for places in maps)  # places in a row, in one head
        weights = masked_softmax(queries @ keys.mT, None)
        if captured := active_capture():
            captured.record(self, weights)
        read = (weights @ values)[:, 0].mT.reshape(features.shape)
        mixed: Tensor = features + self.gamma * self.output(read)
        return mixed
