"""Recurrent encoders and decoders on torch's own cells: a whole sequence in one call wherever nothing forces a loop.

A GRU here is torch's (Cho et al. 2014 with the reset gate after the product, and z and 1 - z exchanged), so parameters
of the papers' GRU do not fit it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.nn.attention import Memory, Read
from saccade.nn.axes import Query, SourceMask, SourceStates, States, TargetStates
from saccade.nn.dropout import Dropout
from saccade.nn.layers import init_xavier

CELLS: dict[str, type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@dataclass(frozen=True, slots=True)
class RecurrentState:
    """What a stack of recurrent layers carries from position to position."""

    hidden: Float[Tensor, "layers batch d_model"]
    cell: Float[Tensor, "layers batch d_model"] | None = None
    """The LSTM's second state."""

    def pick(self, rows: Int[Tensor, " picked"]) -> "RecurrentState":
        """The state of these rows of the batch, in this order."""
        return self.map(lambda states: states.index_select(1, rows))

    def map(self, change: Callable[[Tensor], Tensor]) -> "RecurrentState":
        """The same change made to all there is."""
        return RecurrentState(change(self.hidden), None if self.cell is None else change(self.cell))


class Recurrence(nn.Module):
    """Layers of one cell; each reads the outputs of the one below."""

    def __init__(self, shape: "RecurrentShape", d_input: int) -> None:
        super().__init__()
        self.stack = shape.stack(d_input, shape.d_model)

    def forward(
        self, inputs: Float[Tensor, "batch positions d_input"], state: RecurrentState
    ) -> tuple[States, RecurrentState]:
        """The outputs of the top layer, and the state after the last position."""
        outputs, after = self.stack(inputs, state.hidden if state.cell is None else (state.hidden, state.cell))
        return outputs, _state(after)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurrentShape:
    """What an encoder or decoder is made of."""

    cell: str
    d_model: int
    num_layers: int
    dropout: float

    def stack(self, d_input: int, d_output: int, *, bidirectional: bool = False) -> nn.RNNBase:
        """Layers of the cell, with orthogonal recurrent matrices, zero biases, and gates that start out remembering."""
        between = self.dropout if self.num_layers > 1 else 0.0
        stack = CELLS[self.cell](
            d_input, d_output, self.num_layers, batch_first=True, dropout=between, bidirectional=bidirectional
        )
        for name, parameter in stack.named_parameters():
            if parameter.dim() == 1:
                nn.init.zeros_(parameter)
                if name.startswith("bias_ih") and self.cell == "lstm":
                    nn.init.ones_(parameter[d_output : 2 * d_output])  # the forget gate (Jozefowicz et al. 2015)
                continue
            for gate in parameter.chunk(parameter.shape[0] // d_output):
                (nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_)(gate)
        return stack


class Encoded(NamedTuple):
    """What a recurrent encoder hands over."""

    states: SourceStates
    mask: SourceMask
    last: RecurrentState
    """How a decoder starts."""


class RecurrentEncoder(nn.Module):
    """Reads the source in one direction, or in both with half of d_model each.

    A decoder starts from where the reading ended. In both directions that is s₀ = tanh(W ←h₁) (Bahdanau et al. 2015,
    A.2.2), where the backward reading ended; in one direction, the last state itself (Sutskever et al. 2014).
    """

    def __init__(self, shape: RecurrentShape, *, bidirectional: bool) -> None:
        super().__init__()
        d_direction = shape.d_model // 2 if bidirectional else shape.d_model
        self.stack = shape.stack(shape.d_model, d_direction, bidirectional=bidirectional)
        self.bridge = nn.Linear(d_direction, shape.d_model) if bidirectional else None
        self.cell_bridge = nn.Linear(d_direction, shape.d_model) if bidirectional and shape.cell == "lstm" else None

    def forward(self, embedded: SourceStates, mask: SourceMask) -> Encoded:
        lengths = mask.sum(dim=1)
        packed = pack_padded_sequence(embedded, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, after = self.stack(packed)
        states, _ = pad_packed_sequence(outputs, batch_first=True, total_length=embedded.shape[1])
        return Encoded(states, mask, self._handed_over(_state(after), lengths > 0))

    def _handed_over(self, last: RecurrentState, has_source: Bool[Tensor, " batch"]) -> RecurrentState:
        """The decoder's start; where there is no source at all, it does not depend on what stands there."""
        last = last.map(lambda states: states * has_source[:, None])
        if self.bridge is None:
            return last
        last = last.map(lambda states: states[1::2])  # torch interleaves the directions; the backward one is second
        cell = None if self.cell_bridge is None or last.cell is None else self.cell_bridge(last.cell).tanh()
        return RecurrentState(self.bridge(last.hidden).tanh(), cell)


@runtime_checkable
class Reader(Protocol):
    """What a decoder reads its source with: attention of some kind, or none."""

    def memory(self, states: Tensor, mask: Tensor) -> Memory: ...

    def __call__(self, query: Tensor, memory: Memory, start: int = 0) -> Read: ...


class OneVector(nn.Module):
    """No attention: every step reads the same vector, the only value of its memory."""

    def forward(self, query: Query, memory: Memory, start: int = 0) -> Read:
        return Read(memory.values.expand(-1, query.shape[1], -1))


class FixedVector(OneVector):
    """Where the encoder ended (Cho et al. 2014).

    Bahdanau's model is the RNN encoder-decoder again once its context is held at →h_T (2015, A.2.2). A bidirectional
    encoder ends at both ends: [→h_T; ←h_1].
    """

    def __init__(self, d_forward: int) -> None:
        super().__init__()
        self.d_forward = d_forward

    def memory(self, states: SourceStates, mask: SourceMask) -> Memory:
        """A memory of a single key."""
        lengths = mask.sum(dim=1)
        rows = torch.arange(len(states), device=states.device)
        end = states[rows, (lengths - 1).clamp(min=0)]
        ends = torch.cat([end[:, : self.d_forward], states[:, 0, self.d_forward :]], dim=-1)
        vector = (ends * (lengths > 0)[:, None])[:, None]
        return Memory(vector, vector)


class NoVector(OneVector):
    """Nothing is read at all: the decoder knows the source by its first state alone (Sutskever et al. 2014).

    The readout is that of the other models, so that they can be compared; the paper has none.
    """

    def memory(self, states: SourceStates, mask: SourceMask) -> Memory:
        nothing = states[:, :1, :0]
        return Memory(nothing, nothing)


@dataclass(frozen=True, slots=True)
class DecoderState:
    """What decoding carries from step to step."""

    recurrent: RecurrentState
    source: Memory
    """The source as it is read at every step; never changes."""
    feed: Float[Tensor, "batch d_model"]
    """The attentional state of the last step, for input feeding; zero at first."""
    position: int = 0
    """Tokens read so far."""

    def pick(self, rows: Int[Tensor, " picked"]) -> "DecoderState":
        return replace(
            self,
            recurrent=self.recurrent.pick(rows),
            source=self.source.pick(rows),
            feed=self.feed.index_select(0, rows),
        )


class Decoded(NamedTuple):
    """What a decoder makes of some positions."""

    hidden: TargetStates
    read: Read
    """What it has read of the source at each of them."""


class AttendBefore(nn.Module):
    """Bahdanau's order (2015, A.2.2): the state of the previous step asks, and the context goes into the cell.

    The readout is of sᵢ, as in the paper's equation 4; its appendix has sᵢ₋₁ there.
    """

    def __init__(self, shape: RecurrentShape, reader: Reader, d_context: int, *, loops: bool, maxout: bool) -> None:
        super().__init__()
        self.cross_attention = reader
        self.recurrence = Recurrence(shape, shape.d_model + d_context)
        self.readout = Readout(2 * shape.d_model + d_context, shape.d_model, maxout=maxout)
        self.dropout = Dropout(shape.dropout)
        self.loops = loops

    def forward(self, embedded: TargetStates, state: DecoderState) -> tuple[Decoded, DecoderState]:
        """All positions of `embedded`, one or many, from this state on. What is read by no query needs no loop."""
        reads, outputs, recurrent = [], [], state.recurrent
        chunks = embedded.chunk(embedded.shape[1], dim=1) if self.loops else [embedded]
        for offset, inputs in enumerate(chunks):
            query = recurrent.hidden[-1][:, None] if self.loops else inputs
            read = self.cross_attention(query, state.source, state.position + offset)
            output, recurrent = self.recurrence(torch.cat([inputs, read.context], dim=-1), recurrent)
            reads.append(read)
            outputs.append(output)
        read = joined(reads)
        hidden = self.readout(torch.cat([torch.cat(outputs, dim=1), embedded, read.context], dim=-1))
        after = replace(state, recurrent=recurrent, position=state.position + embedded.shape[1])
        return Decoded(self.dropout(hidden), read), after


class AttendAfter(nn.Module):
    """Luong's order (2015, §3): the new state asks, and h̃ = tanh(W[c; h]) speaks.

    With input feeding, h̃ also goes into the next step, which forces a loop; without it there is none.
    """

    def __init__(self, shape: RecurrentShape, reader: Reader, d_context: int, *, feeds: bool) -> None:
        super().__init__()
        self.cross_attention = reader
        self.recurrence = Recurrence(shape, shape.d_model * (2 if feeds else 1))
        self.readout = Readout(shape.d_model + d_context, shape.d_model)
        self.dropout = Dropout(shape.dropout)
        self.feeds = feeds

    def forward(self, embedded: TargetStates, state: DecoderState) -> tuple[Decoded, DecoderState]:
        """All positions of `embedded`, one or many, from this state on."""
        reads, spoken, recurrent, feed = [], [], state.recurrent, state.feed
        chunks = embedded.chunk(embedded.shape[1], dim=1) if self.feeds else [embedded]
        for offset, inputs in enumerate(chunks):
            fed = torch.cat([inputs, feed[:, None]], dim=-1) if self.feeds else inputs
            output, recurrent = self.recurrence(fed, recurrent)
            read = self.cross_attention(output, state.source, state.position + offset)
            hidden = self.readout(torch.cat([read.context, output], dim=-1))
            feed = hidden[:, -1]
            reads.append(read)
            spoken.append(hidden)
        after = replace(state, recurrent=recurrent, feed=feed, position=state.position + embedded.shape[1])
        return Decoded(self.dropout(torch.cat(spoken, dim=1)), joined(reads)), after


class Readout(nn.Module):
    """What a decoder would say, from all it knows: tanh(Wx), or the larger of two (maxout, Bahdanau et al. 2015)."""

    def __init__(self, d_input: int, d_model: int, *, maxout: bool = False) -> None:
        super().__init__()
        self.mix = nn.Linear(d_input, d_model * (2 if maxout else 1))
        self.maxout = maxout
        init_xavier(self.mix)

    def forward(self, known: Float[Tensor, "batch target d_input"]) -> TargetStates:
        mixed: Tensor = self.mix(known)
        return mixed.view(*mixed.shape[:-1], -1, 2).amax(dim=-1) if self.maxout else mixed.tanh()


def _state(after: Tensor | tuple[Tensor, Tensor]) -> RecurrentState:
    """The last state as torch gives it: one tensor, or two for an LSTM."""
    return RecurrentState(*after) if isinstance(after, tuple) else RecurrentState(after)


def joined(reads: list[Read]) -> Read:
    """What was read position by position, as one."""
    if len(reads) == 1:
        return reads[0]
    contexts, *others = zip(*reads, strict=True)
    return Read(torch.cat(contexts, dim=1), *(None if each[0] is None else torch.cat(each, dim=1) for each in others))
