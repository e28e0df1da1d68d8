"""The small layers around attention: feed-forward, the residual connection with its norm, and how they start out."""

from torch import Tensor, nn

from saccade.nn.axes import States
from saccade.nn.dropout import Dropout

NORM_EPSILON = 1e-5  # added to the variance that a layer norm divides by; torch's own default


def init_xavier(*layers: nn.Linear) -> None:
    """Draw their weights (Glorot & Bengio 2010), and set their biases to zero."""
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


class FeedForward(nn.Module):
    """Two products with an activation between, at every position alone (Vaswani et al. 2017, eq. 2)."""

    def __init__(self, d_model: int, d_feedforward: int, activation: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.widen = nn.Linear(d_model, d_feedforward)
        self.activation = activation
        self.dropout = Dropout(dropout)
        self.narrow = nn.Linear(d_feedforward, d_model)
        init_xavier(self.widen, self.narrow)

    def forward(self, states: States) -> States:
        """max(0, xW₁ + b₁)W₂ + b₂, or with another activation."""
        narrowed: Tensor = self.narrow(self.dropout(self.activation(self.widen(states))))
        return narrowed


class Residual(nn.Module):
    """The way around a sub-layer: `leave(x, sublayer(enter(x)))`.

    Post-norm (the paper): norm(x + sublayer(x)). Pre-norm: x + sublayer(norm(x)).
    """

    def __init__(self, d_model: int, dropout: float, *, norm_first: bool, epsilon: float = NORM_EPSILON) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model, epsilon)
        self.dropout = Dropout(dropout)
        self.norm_first = norm_first

    def enter(self, states: States) -> States:
        """What the sub-layer reads."""
        entered: Tensor = self.norm(states) if self.norm_first else states
        return entered

    def leave(self, states: States, update: States) -> States:
        """The states with the sub-layer's update."""
        left: Tensor = states + self.dropout(update)
        return left if self.norm_first else self.norm(left)
