"""The Transformer's two layers (Vaswani et al. 2017, Fig. 1), each made of attention, feed-forward and residuals."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import nn

from saccade.nn.attention import Memory, Picks
from saccade.nn.axes import SourceMask, SourceStates, TargetStates
from saccade.nn.capture import Kind
from saccade.nn.layers import NORM_EPSILON, FeedForward, Residual
from saccade.nn.multihead import MultiHeadAttention

Said = TypeVar("Said", bound=Picks)
"""What a decoder layer keeps of what was said."""
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
    norm_epsilon: float = NORM_EPSILON

    def attention(self, kind: Kind) -> MultiHeadAttention:
        return MultiHeadAttention(self.d_model, self.num_heads, self.attention_dropout, kind=kind)

    def feed_forward(self) -> FeedForward:
        activation = ACTIVATIONS[self.activation]()
        return FeedForward(self.d_model, self.d_feedforward, activation, self.activation_dropout)

    def norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.d_model, self.norm_epsilon)

    def residual(self) -> Residual:
        return Residual(self.d_model, self.dropout, norm_first=self.norm_first, epsilon=self.norm_epsilon)


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


class DecoderLayer(nn.Module, Generic[Said]):
    """Every position recalls what was said, then looks at the source, then thinks by itself."""

    def __init__(self, shape: LayerShape, source: Kind = "cross") -> None:
        """`source` is the kind of what it looks at: a text (`cross`) or an image."""
        super().__init__()
        self.add_recall(shape)
        self.cross_attention = shape.attention(source)
        self.feed_forward = shape.feed_forward()
        self.around_self = shape.residual()
        self.around_cross = shape.residual()
        self.around_feed_forward = shape.residual()

    @abstractmethod
    def add_recall(self, shape: LayerShape) -> None:
        """Make what `recall` needs, before all else."""

    @abstractmethod
    def nothing_said(self, source: Memory) -> Said:
        """What is recalled before the first token of each row of the source."""

    @abstractmethod
    def recall(self, states: TargetStates, past: Said | None) -> tuple[TargetStates, Said]:
        """What each position finds in itself and those before it; and all that was said up to the last."""

    def learn(self, states: TargetStates, source: SourceStates, mask: SourceMask | None) -> TargetStates:
        """`forward` for a whole target, which also projects the encoder's states: all that a layer does in one call,
        so that its parameters need not be at hand before or after.
        """
        states, _ = self.forward(states, self.cross_attention.memory(source, mask))
        return states

    def forward(self, states: TargetStates, source: Memory, past: Said | None = None) -> tuple[TargetStates, Said]:
        """The new states, and all that was said up to them.

        Without a past, `states` are a whole target and each position sees those before it (teacher forcing).
        With one, they follow it: one step of decoding. Several rows of it may then share one sentence of the source:
        as they do not see each other, they ask it together, like positions of one target.
        """
        update, said = self.recall(self.around_self.enter(states), past)
        states = self.around_self.leave(states, update)

        together = self.around_cross.enter(states).reshape(len(source.keys), -1, states.shape[-1])
        read = self.cross_attention(self.cross_attention.queries(together), source)
        states = self.around_cross.leave(states, read.view_as(states))

        update = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, update), said


class AttentionDecoderLayer(DecoderLayer[Memory]):
    """The paper's: every position looks back at what was said by self-attention."""

    def add_recall(self, shape: LayerShape) -> None:
        self.self_attention = shape.attention("decoder")

    def nothing_said(self, source: Memory) -> Memory:
        return Memory(source.keys[..., :0, :], source.values[..., :0, :])

    def recall(self, states: TargetStates, past: Memory | None) -> tuple[TargetStates, Memory]:
        queries, said = self.self_attention.queries_and_memory(states)
        if past is not None:
            said = past.append(said)
        return self.self_attention(queries, said, causal=True), said
