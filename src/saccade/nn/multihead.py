"""Multi-head attention (Vaswani et al. 2017, §3.2.2), for self- and cross-attention alike."""

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear

from saccade.nn.attention import Memory, attend, attend_fused
from saccade.nn.axes import Mask
from saccade.nn.capture import AttentionModule, Kind, active_capture
from saccade.nn.layers import init_xavier
from saccade.nn.short import attend_short, is_short


class MultiHeadAttention(AttentionModule):
    """Several small attentions side by side, each with its own view of queries, keys and values."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, *, kind: Kind | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.num_heads = num_heads
        self.dropout = dropout
        # Query, key and value stand below each other: self-attention projects all three in one product.
        self.projection = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        # Drawn as one matrix, so smaller than three of their own would be: flatter weights at first learn faster.
        init_xavier(self.projection, self.output)

    def queries(self, states: Float[Tensor, "batch query d_model"]) -> Float[Tensor, "batch heads query d_head"]:
        """The questions that these states ask."""
        d = states.shape[-1]
        return self._split(linear(states, self.projection.weight[:d], self.projection.bias[:d]))

    def memory(self, states: Float[Tensor, "batch key d_model"], mask: Mask | None = None) -> Memory:
        """What these states offer to be attended to; projected once, however often it is asked."""
        d = states.shape[-1]
        keys, values = linear(states, self.projection.weight[d:], self.projection.bias[d:]).chunk(2, dim=-1)
        return Memory(self._split(keys), self._split(values), mask)

    def queries_and_memory(
        self, states: Float[Tensor, "batch query d_model"], mask: Bool[Tensor, "batch query"] | None = None
    ) -> tuple[Float[Tensor, "batch heads query d_head"], Memory]:
        """`queries` and `memory` of the same states, in one product: self-attention."""
        queries, keys, values = self.projection(states).chunk(3, dim=-1)
        return self._split(queries), Memory(self._split(keys), self._split(values), mask)

    def forward(
        self, queries: Float[Tensor, "batch heads query d_head"], memory: Memory, *, causal: bool = False
    ) -> Float[Tensor, "batch query d_model"]:
        """Ask the memory in every head, and mix what the heads have read."""
        dropout = self.dropout if self.training else 0.0
        captured = active_capture()
        if not captured and is_short(queries, memory):
            context = attend_short(queries, memory, causal=causal, dropout=dropout)
        # torch's kernel has no dropout on a CPU: it falls back to a path slower than ours.
        elif captured or (dropout and queries.device.type == "cpu"):
            context, weights = attend(queries, memory, causal=causal, dropout=dropout)
            if captured:
                captured.record(self, weights)
        else:
            context = attend_fused(queries, memory, causal=causal, dropout=dropout)
        mixed: Tensor = self.output(context.transpose(1, 2).flatten(2))
        return mixed

    def _split(self, states: Float[Tensor, "batch query d_model"]) -> Float[Tensor, "batch heads query d_head"]:
        batch, query, _ = states.shape
        return states.view(batch, query, self.num_heads, -1).transpose(1, 2)
