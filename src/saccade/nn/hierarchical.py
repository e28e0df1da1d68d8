"""Hierarchical attention (Yang et al. 2016): words are pooled to sentences, and these to a document."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.attention import Attention, Read
from saccade.nn.axes import KeyStates, Mask
from saccade.nn.capture import Kind
from saccade.nn.layers import init_xavier
from saccade.nn.scores import InnerProduct


class LearnedQuery(nn.Module):
    """A sequence pooled to one vector by attention that always asks the same, learned question: "what is informative?"

    u = tanh(Wh + b), α = softmax(uᵀu_w), s = Σαh (eq. 5–7 for words, 8–10 for sentences).
    """

    def __init__(self, d_states: int, d_hidden: int, *, kind: Kind | None = None) -> None:
        super().__init__()
        inner = nn.Linear(d_states, d_hidden)
        self.attention = Attention(InnerProduct(key_map=nn.Sequential(inner, nn.Tanh())), kind=kind)
        self.query = nn.Parameter(torch.empty(d_hidden))
        init_xavier(inner)
        nn.init.uniform_(self.query, -(d_hidden**-0.5), d_hidden**-0.5)

    def forward(self, states: KeyStates, mask: Mask | None = None) -> Float[Tensor, "batch d_states"]:
        """The pooled vector; zero where all is masked."""
        query = self.query.expand(len(states), 1, -1)
        read: Read = self.attention(query, self.attention.memory(states, mask))
        return read.context[:, 0]
