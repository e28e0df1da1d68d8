"""DiSAN (Shen et al. 2018): self-attention in both directions, then a pooling; every feature has its own weights."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import elu

from saccade.nn.hierarchical import LearnedQuery
from saccade.nn.multidimensional import FusionGate, SourceToToken, TokenToToken
from saccade.tasks.facets.facets import Facets
from saccade.tasks.facets.settings import MultiDimensionalSettings


class MultiDimensional(nn.Module):
    """Names two things about a sequence, out of one vector."""

    def __init__(self, settings: MultiDimensionalSettings, num_tokens: int, num_values: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.settings = settings
        self.embedding = nn.Embedding(num_tokens, d_model)
        self.hidden = nn.Linear(d_model, d_model)
        self.forwards, self.backwards = TokenToToken(d_model), TokenToToken(d_model, looks_ahead=True)
        self.forwards_gate, self.backwards_gate = FusionGate(d_model), FusionGate(d_model)
        by_feature = settings.pooling == "features"
        self.pool = SourceToToken(2 * d_model) if by_feature else LearnedQuery(2 * d_model, 2 * d_model, kind="cross")
        self.output = nn.Linear(2 * d_model, 2 * num_values)

    def forward(self, batch: Facets) -> Float[Tensor, "batch 2 classes"]:
        """The logits of every value, of both facets."""
        states = elu(self.hidden(self.embedding(batch.words)))
        both = [
            self.forwards_gate(states, self.forwards(states, batch.mask)),
            self.backwards_gate(states, self.backwards(states, batch.mask)),
        ]
        pooled = self.pool(torch.cat(both, dim=-1), batch.mask)
        logits: Tensor = self.output(pooled)
        return logits.view(len(logits), 2, -1)
