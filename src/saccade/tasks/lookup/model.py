"""A dictionary in one layer: multi-head attention asks all pairs for a key, and reads the value beside it."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.multihead import MultiHeadAttention
from saccade.tasks.lookup.lookups import Lookups
from saccade.tasks.lookup.settings import RetrieverSettings


class Retriever(nn.Module):
    """A pair is the sum of its two embeddings; only the weights of attention tell which pair is meant."""

    def __init__(self, settings: RetrieverSettings, num_keys: int, num_values: int) -> None:
        super().__init__()
        self.settings = settings
        self.keys = nn.Embedding(num_keys, settings.d_model)
        self.values = nn.Embedding(num_values, settings.d_model)
        self.attention = MultiHeadAttention(settings.d_model, settings.num_heads)
        self.output = nn.Linear(settings.d_model, num_values)

    def forward(self, batch: Lookups) -> Float[Tensor, "batch values"]:
        """The logit of every value."""
        memory = self.attention.memory(self.keys(batch.keys) + self.values(batch.values), batch.mask)
        queries = self.attention.queries(self.keys(batch.query)[:, None])
        if self.settings.reads == "mean":
            queries = torch.zeros_like(queries)  # all scores are 0, all weights alike
        logits: Tensor = self.output(self.attention(queries, memory)[:, 0])
        return logits
