"""The Transformer (Vaswani et al. 2017): trained on whole targets, decoded step by step with cached keys and values."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from saccade.data.batch import Batch, Sources
from saccade.models.encoder_decoder import EncoderDecoder, Writer, scaled
from saccade.models.settings import TransformerSettings
from saccade.nn.attention import Memory
from saccade.nn.axes import RowStates, RowTokens, States, TargetStates
from saccade.nn.capture import active_capture
from saccade.nn.positions import Positions
from saccade.nn.transformer import DecoderLayer, EncoderLayer, LayerShape


@dataclass(frozen=True, slots=True)
class TransformerState:
    """What decoding carries from step to step, a memory for every decoder layer."""

    source: tuple[Memory, ...]
    """The encoder's states as each layer's cross-attention sees them, once a sentence; never changes."""
    said: tuple[Memory, ...]
    """The target so far as each layer's self-attention sees it, for every row; grows by one key a step."""
    width: int = 1
    """How many rows each sentence has, which stand together."""

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return self.said[0].keys.shape[-2]

    @property
    def seen(self) -> tuple[Memory, ...]:
        """The source as each layer reads it; a capture gets every row by itself."""
        return tuple(memory.repeat(self.width) for memory in self.source) if active_capture() else self.source

    def pick(self, rows: Int[Tensor, " picked"]) -> "TransformerState":
        """The state of these rows, in this order. Sources are copied only where sentences are left out."""
        sentences, width = _together(rows // self.width)
        source = self.source
        if sentences.tolist() != list(range(source[0].keys.shape[0])):
            source = tuple(memory.pick(sentences) for memory in source)
        return TransformerState(source, tuple(memory.pick(rows) for memory in self.said), width)


class TransformerWriter(Writer[Memory, TransformerState]):
    """A Transformer's decoder, whatever it looks at."""

    positions: Positions
    decoder: nn.ModuleList
    decoder_norm: nn.Module

    def start(self, memory: Memory) -> TransformerState:
        """Project what the encoder has read for every layer, once; nothing has been said."""
        source = tuple(layer.cross_attention.memory(memory.keys, memory.mask) for layer in self._decoder)
        return TransformerState(source, tuple(_nothing_like(keys) for keys in source))

    def advance(self, last: RowTokens, state: TransformerState) -> tuple[RowStates, TransformerState]:
        """Read one token a row; only its own keys and values are new."""
        states = self.embed(self.target_embedding, last[:, None], start=state.length)
        said = []
        for layer, source, past in zip(self._decoder, state.seen, state.said, strict=True):
            states, now = layer(states, source, past)
            said.append(now)
        return self.decoder_norm(states)[:, 0], replace(state, said=tuple(said))

    def embed(self, embedding: nn.Embedding, ids: Int[Tensor, "batch positions"], start: int = 0) -> States:
        embedded: Tensor = self.dropout(self.positions(scaled(embedding, ids), start))
        return embedded

    @property
    def _decoder(self) -> Iterable[DecoderLayer]:
        return cast(Iterable[DecoderLayer], self.decoder)


class Transformer(EncoderDecoder[Memory, TransformerState], TransformerWriter):
    """Encoder and decoder stacks around shared embeddings."""

    def __init__(self, settings: TransformerSettings, num_source_tokens: int, num_target_tokens: int) -> None:
        super().__init__(settings, num_source_tokens, num_target_tokens, settings.output_bias)
        self.settings = settings
        shape = LayerShape(
            d_model=settings.d_model,
            d_feedforward=settings.d_feedforward,
            num_heads=settings.num_heads,
            activation=settings.activation,
            dropout=settings.dropout,
            attention_dropout=settings.attention_dropout,
            activation_dropout=settings.activation_dropout,
            norm_first=settings.norm == "pre",
        )
        self.positions = Positions(settings.d_model)
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(settings.layers))
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(settings.num_decoder_layers))
        # With pre-norm the last residual leaves un-normalised states; with post-norm they are normalised already.
        self.encoder_norm = nn.LayerNorm(settings.d_model) if shape.norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(settings.d_model) if shape.norm_first else nn.Identity()

    def encode(self, sources: Sources) -> Memory:
        """Read the source once: its states serve as keys and values of all that follows."""
        states = self.embed(self.source_embedding, sources.source)
        for layer in self.encoder:
            states = layer(states, sources.source_mask)
        states = self.encoder_norm(states)
        return Memory(states, states, sources.source_mask)

    def forward(self, batch: Batch) -> TargetStates:
        memory = self.encode(batch)
        states = self.embed(self.target_embedding, batch.prefix)
        for layer in self._decoder:
            states = layer.learn(states, memory.keys, memory.mask)
        hidden: Tensor = self.decoder_norm(states)
        return hidden


def _nothing_like(memory: Memory) -> Memory:
    """A memory of the same make, without a single key."""
    return Memory(memory.keys[..., :0, :], memory.values[..., :0, :])


def _together(sentences: RowTokens) -> tuple[Int[Tensor, " sentences"], int]:
    """The sentences of rows, each once if all have equally many rows that stand together; and how many."""
    each, counts = torch.unique_consecutive(sentences, return_counts=True)
    width = int(counts[0]) if len(counts) else 1
    return (each, width) if bool((counts == width).all()) else (sentences, 1)
