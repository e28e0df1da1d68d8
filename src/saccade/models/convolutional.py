"""The convolutional encoder-decoder (Gehring et al. 2017): trained on whole targets, decoded from the last few inputs.

Positions are the Transformer's sinusoids, where the paper learns a vector for each: they have no longest sentence.
"""

import math
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from saccade.data.batch import Batch, Sources
from saccade.models.encoder_decoder import EncoderDecoder, scaled
from saccade.models.settings import ConvolutionalSettings
from saccade.nn.attention import Memory
from saccade.nn.axes import RowStates, RowTokens, States, TargetStates
from saccade.nn.convolution import (
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    ConvolutionShape,
    convolutional_memory,
)
from saccade.nn.positions import Positions


@dataclass(frozen=True, slots=True)
class ConvolutionalState:
    """What decoding carries from step to step."""

    source: Memory
    """The same for every layer; never changes."""
    inputs: tuple[Float[Tensor, "batch before d_model"], ...]
    """The last inputs of each layer, as many as its kernel reaches back."""
    length: int = 0
    """Tokens read so far."""

    def pick(self, rows: Int[Tensor, " picked"]) -> "ConvolutionalState":
        inputs = tuple(inputs.index_select(0, rows) for inputs in self.inputs)
        return ConvolutionalState(self.source.pick(rows), inputs, self.length)


class Convolutional(EncoderDecoder[Memory, ConvolutionalState]):
    """Stacks of gated convolutions; each decoder layer attends to the source."""

    def __init__(self, settings: ConvolutionalSettings, num_source_tokens: int, num_target_tokens: int) -> None:
        super().__init__(settings, num_source_tokens, num_target_tokens)
        self.settings = settings
        shape = ConvolutionShape(d_model=settings.d_model, kernel=settings.kernel, dropout=settings.dropout)
        self.positions = Positions(settings.d_model)
        self.encoder = nn.ModuleList(ConvolutionalEncoderLayer(shape) for _ in range(settings.layers))
        self.decoder = nn.ModuleList(ConvolutionalDecoderLayer(shape) for _ in range(settings.num_decoder_layers))
        self.output = nn.Linear(settings.d_model, settings.d_model)

    def encode(self, sources: Sources) -> Memory:
        """Read the source once; every decoder layer looks at the same states."""
        embedded = self.embed(self.source_embedding, sources.source)
        states = embedded
        for layer in self.encoder:
            states = layer(states, sources.source_mask)
        return convolutional_memory(states, embedded, sources.source_mask)

    def forward(self, batch: Batch) -> TargetStates:
        hidden, _ = self._decode(batch.prefix, self.start(self.encode(batch)))
        return hidden

    def start(self, memory: Memory) -> ConvolutionalState:
        """Zeros stand before the first position."""
        batch, _, d_model = memory.keys.shape
        zeros = memory.keys.new_zeros(batch, self.settings.kernel - 1, d_model)
        return ConvolutionalState(memory, tuple(zeros for _ in self.decoder))

    def advance(self, last: RowTokens, state: ConvolutionalState) -> tuple[RowStates, ConvolutionalState]:
        """Read one token a row; each layer convolves it with its last inputs."""
        hidden, state = self._decode(last[:, None], state)
        return hidden[:, 0], state

    def _decode(
        self, prefix: Int[Tensor, "batch target"], state: ConvolutionalState
    ) -> tuple[TargetStates, ConvolutionalState]:
        embedded = self.embed(self.target_embedding, prefix, state.length)
        states, inputs = embedded, []
        for layer, past in zip(self.decoder, state.inputs, strict=True):
            states, now = layer(states, embedded, state.source, past)
            inputs.append(now)
        hidden: Tensor = self.dropout(self.output(states))
        return hidden, ConvolutionalState(state.source, tuple(inputs), state.length + prefix.shape[1])

    def embed(self, embedding: nn.Embedding, ids: Int[Tensor, "batch positions"], start: int = 0) -> States:
        # Small, about the paper's standard deviation of 0.1: the keys are not scaled by √d, so larger ones would start
        # out with attention that has decided already.
        placed = self.positions(scaled(embedding, ids), start) / math.sqrt(self.settings.d_model)
        embedded: Tensor = self.dropout(placed)
        return embedded
