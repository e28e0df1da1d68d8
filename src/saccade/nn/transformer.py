"""The Transformer's two layers (Vaswani et al. 2017, Fig. 1), each made of attention, feed-forward and residuals."""

from dataclasses import dataclass

from torch import nn

from saccade.nn.attention import Memory
from saccade.nn.axes import SourceMask, SourceStates, TargetStates
from saccade.nn.capture import Kind
from saccade.nn.layers import FeedForward, Residual
from saccade.nn.multihead import MultiHeadAttention

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "swish": nn.SiLU}


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerShape:
    """What an encoder or decoder layer is made of."""

    d_model: int
    d_feedforward: int
    num_heads: int
    activation: str
    dropout: float
    attention_dropout: float
    activation_dropout: float
    norm_first: bool

    def attention(self, kind: Kind) -> MultiHeadAttention:
        return MultiHeadAttention(self.d_model, self.num_heads, self.attention_dropout, kind=kind)

    def feed_forward(self) -> FeedForward:
        activation = ACTIVATIONS[self.activation]()
        return FeedForward(self.d_model, self.d_feedforward, activation, self.activation_dropout)

    def residual(self) -> Residual:
        return Residual(self.d_model, self.dropout, norm_first=self.norm_first)


class EncoderLayer(nn.Module):
    """Every position looks at all positions, then thinks by itself."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.self_attention = shape.attention("encoder")
        self.feed_forward = shape.feed_forward()
        self.around_attention = shape.residual()
        self.around_feed_forward = shape.residual()

    def forward(self, states: SourceStates, mask: SourceMask | None) -> SourceStates:
        queries, memory = self.self_attention.queries_and_memory(self.around_attention.enter(states), mask)
        states = self.around_attention.leave(states, self.self_attention(queries, memory))

        update = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, update)


class DecoderLayer(nn.Module):
    """Every position looks back at what was said, then at the source, then thinks by itself."""

    def __init__(self, shape: LayerShape, source: Kind = "cross") -> None:
        """`source` is the kind of what it looks at: a text (`cross`) or an image."""
        super().__init__()
        self.self_attention = shape.attention("decoder")
        self.cross_attention = shape.attention(source)
        self.feed_forward = shape.feed_forward()
        self.around_self = shape.residual()
        self.around_cross = shape.residual()
        self.around_feed_forward = shape.residual()

    def learn(self, states: TargetStates, source: SourceStates, mask: SourceMask | None) -> TargetStates:
        """`forward` for a whole target, which also projects the encoder's states: all that a layer does in one call,
        so that its parameters need not be at hand before or after.
        """
        states, _ = self.forward(states, self.cross_attention.memory(source, mask))
        return states

    def forward(self, states: TargetStates, source: Memory, past: Memory | None = None) -> tuple[TargetStates, Memory]:
        """The new states, and all that was said up to them.

        Without a past, `states` are a whole target and each position sees those before it (teacher forcing).
        With one, they follow it: one step of decoding. Several rows of it may then share one sentence of the source:
        as they do not see each other, they ask it together, like positions of one target.
        """
        queries, said = self.self_attention.queries_and_memory(self.around_self.enter(states))
        if past is not None:
            said = past.append(said)
        states = self.around_self.leave(states, self.self_attention(queries, said, causal=True))

        together = self.around_cross.enter(states).reshape(len(source.keys), -1, states.shape[-1])
        read = self.cross_attention(self.cross_attention.queries(together), source)
        states = self.around_cross.leave(states, read.view_as(states))

        update = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, update), said
