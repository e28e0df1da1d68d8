"""The Transformer (Vaswani et al. 2017): trained on whole targets, decoded step by step from what was said before."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

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
from saccade.nn.ssru import SSRUDecoderLayer
from saccade.nn.transformer import AttentionDecoderLayer, DecoderLayer, EncoderLayer, LayerShape


@dataclass(frozen=True, slots=True)
class TransformerState:
    """What decoding carries from step to step, a memory for every decoder layer."""

    source: tuple[Memory, ...]
    """The encoder's states as each layer's cross-attention sees them, once a sentence; never changes."""
    said: tuple[Any, ...]
    """The target so far as each layer recalls it, for every row: keys and values, one more a step, or a cell."""
    width: int = 1
    """How many rows each sentence has, which stand together."""
    length: int = 0
    """Tokens read so far."""

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
        return TransformerState(source, tuple(said.pick(rows) for said in self.said), width, self.length)


class TransformerWriter(Writer[Memory, TransformerState]):
    """A Transformer's decoder, whatever it looks at."""

    positions: Positions
    decoder: nn.ModuleList
    decoder_norm: nn.Module

    def start(self, memory: Memory) -> TransformerState:
        """Project what the encoder has read for every layer, once; nothing has been said."""
        source = tuple(layer.cross_attention.memory(memory.keys, memory.mask) for layer in self._decoder)
        nothing = (layer.nothing_said(keys) for layer, keys in zip(self._decoder, source, strict=True))
        return TransformerState(source, tuple(nothing))

    def advance(self, last: RowTokens, state: TransformerState) -> tuple[RowStates, TransformerState]:
        """Read one token a row; only what it adds to the past is computed."""
        states = self.embed(self.target_embedding, last[:, None], start=state.length)
        said = []
        for layer, source, past in zip(self._decoder, state.seen, state.said, strict=True):
            states, now = layer(states, source, past)
            said.append(now)
        return self.decoder_norm(states)[:, 0], replace(state, said=tuple(said), length=state.length + 1)

    def embed(self, embedding: nn.Embedding, ids: Int[Tensor, "batch positions"], start: int = 0) -> States:
        embedded: Tensor = self.dropout(self.positions(scaled(embedding, ids), start))
        return embedded

    @property
    def _decoder(self) -> Iterable[DecoderLayer[Any]]:
        return cast(Iterable[DecoderLayer[Any]], self.decoder)


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
            norm_epsilon=settings.norm_epsilon,
        )
        layer = AttentionDecoderLayer if settings.decoder == "attention" else SSRUDecoderLayer
        self.positions = Positions(settings.d_model, settings.positions)
        self.encoder = nn.ModuleList(EncoderLayer(shape) for _ in range(settings.layers))
        self.decoder = nn.ModuleList(layer(shape) for _ in range(settings.num_decoder_layers))
        # With pre-norm the last residual leaves un-normalised states; with post-norm they are normalised already.
        self.encoder_norm = shape.norm() if shape.norm_first else nn.Identity()
        self.decoder_norm = shape.norm() if shape.norm_first else nn.Identity()

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


def _together(sentences: RowTokens) -> tuple[Int[Tensor, " sentences"], int]:
    """The sentences of rows, each once if all have equally many rows that stand together; and how many."""
    each, counts = torch.unique_consecutive(sentences, return_counts=True)
    width = int(counts[0]) if len(counts) else 1
    return (each, width) if bool((counts == width).all()) else (sentences, 1)
