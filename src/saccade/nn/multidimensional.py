"""Multi-dimensional attention (DiSAN, Shen et al. 2018): each feature of a vector has weights of its own.

Only written out: there are as many scores as queries × keys × features. `capture` gives the features as heads.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import elu

from saccade.nn.axes import Mask
from saccade.nn.capture import AttentionModule, active_capture
from saccade.nn.layers import init_xavier
from saccade.nn.masks import causal_mask
from saccade.nn.normalise import masked_softmax

BOUND = 5.0
"""The paper's c: scores between tokens lie within ±c."""

Tokens = Float[Tensor, "batch positions features"]


def directional_mask(
    positions: int, *, looks_ahead: bool, device: torch.device | None = None
) -> Bool[Tensor, "query key"]:
    """True before each token (the paper's forward mask), or after it (its backward mask); never at the token itself."""
    before = causal_mask(positions, positions, device).tril(-1)
    return before.mT if looks_ahead else before


class TokenToToken(AttentionModule):
    """For each token a mixture of those before it, or of those after it if it `looks_ahead`.

    The score of key i for query j is c tanh((W₁hᵢ + W₂hⱼ + b)/c), a vector; the softmax is taken for each feature. The
    first token, which has none before it, reads zero, and so does the last if they look ahead.
    """

    kind = "encoder"

    def __init__(self, d_model: int, *, looks_ahead: bool = False) -> None:
        super().__init__()
        self.looks_ahead = looks_ahead
        self.of_query, self.of_key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model, bias=False)
        init_xavier(self.of_query, self.of_key)

    def forward(self, states: Tokens, mask: Bool[Tensor, "batch positions"] | None = None) -> Tokens:
        """What each token reads of the others."""
        weights = self._weights(states, mask)
        if captured := active_capture():
            captured.record(self, weights)
        return (weights @ states.mT[..., None])[..., 0].mT

    def _weights(self, states: Tensor, mask: Tensor | None) -> Float[Tensor, "batch features query key"]:
        both = self.of_query(states).mT[..., None] + self.of_key(states).mT[..., None, :]
        allowed = directional_mask(states.shape[1], looks_ahead=self.looks_ahead, device=states.device)
        if mask is not None:
            allowed = allowed & mask[:, None, None]
        return masked_softmax(BOUND * (both / BOUND).tanh(), allowed)


class FusionGate(nn.Module):
    """F ⊙ h + (1 - F) ⊙ s with F = σ(W₁s + W₂h + b): how much of each feature a token keeps of itself."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.of_states, self.of_read = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model, bias=False)
        init_xavier(self.of_states, self.of_read)

    def forward(self, states: Tokens, read: Tokens) -> Tokens:
        """The states h, mixed with what they have read of the others, s."""
        gate = (self.of_read(read) + self.of_states(states)).sigmoid()
        fused: Tensor = gate * states + (1 - gate) * read
        return fused


class SourceToToken(AttentionModule):
    """A sequence pooled to one vector, by scores W₂ ELU(W₁h + b₁) + b₂ for each feature."""

    kind = "cross"

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        init_xavier(self.inner, self.outer)

    def forward(
        self, states: Float[Tensor, "batch key features"], mask: Mask | None = None
    ) -> Float[Tensor, "batch features"]:
        """The pooled vector; zero where all is masked."""
        scores = self.outer(elu(self.inner(states))).mT
        weights = masked_softmax(scores, None if mask is None else mask[:, None])
        if captured := active_capture():
            captured.record(self, weights[:, :, None])  # one query
        return (weights * states.mT).sum(dim=-1)
