"""Every model that the contracts are run on: a line more in `every_model`, and a new one has to keep them all."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache

import torch

from saccade.data.batch import Batch, collate
from saccade.models.build import Model, build
from saccade.models.settings import (
    AttentionSettings,
    ConvolutionalSettings,
    ModelSettings,
    RecurrentSettings,
    TransformerSettings,
)
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.training.loss import smoothed_loss_chunked

SOURCES = [[4, 5, 6, 7, 8], [9], [], [10, 4, 9, 5], [6, 6, 6]]
TARGETS = [[4, 9, 5], [10, 4, 8, 7, 6, 5], [7], [], [5, 5]]


@dataclass(frozen=True)
class Tiny:
    """A model small enough for numerical gradients, and the tokenizers that its vocabularies come from."""

    settings: ModelSettings
    tokenizers: Callable[[], Tokenizers]

    def build(self) -> Model:
        """In float64 without dropout, always the same."""
        tokenizers = self.tokenizers()
        torch.manual_seed(1)
        model = build(self.settings, len(tokenizers.source), len(tokenizers.target)).double().eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:  # a bias of zero, or a gain of one, could be left out unnoticed
                    parameter += 0.3 * torch.randn_like(parameter)
        return model


@cache
def shared() -> Tokenizers:
    """One vocabulary."""
    tokenizer = _letters("abcdefgh")
    return Tokenizers(tokenizer, tokenizer)


@cache
def separate() -> Tokenizers:
    """Two vocabularies of different sizes: ids of one are not ids of the other."""
    return Tokenizers(_letters("abcdefghijk"), _letters("0123456"))


def _letters(alphabet: str) -> Tokenizer:
    settings = TokenizerSettings(kind="char", vocabulary=5 + len(alphabet), byte_fallback=False)
    return Tokenizer.learn([alphabet], settings, seed=1)


def every_model() -> dict[str, Tiny]:
    """By name."""
    return {
        "transformer, post-norm": Tiny(_transformer(), shared),
        "transformer, pre-norm": Tiny(_transformer(norm="pre", decoder_layers=1), shared),
        "transformer, tied": Tiny(_transformer(embeddings="tied", activation="swish"), separate),
        "transformer, separate": Tiny(_transformer(embeddings="separate", norm="pre"), separate),
        "transformer, gelu": Tiny(_transformer(activation="gelu", num_heads=4), shared),
        "transformer, like Marian": Tiny(_transformer(output_bias=True, positions="marian", norm_epsilon=1e-3), shared),
        "SSRU": Tiny(_transformer(decoder="ssru", positions="marian", norm_epsilon=1e-9, output_bias=True), shared),
        "SSRU, pre-norm": Tiny(_transformer(decoder="ssru", norm="pre", embeddings="tied", decoder_layers=1), separate),
        "convolutional": Tiny(_convolutional(), shared),
        "convolutional, separate": Tiny(_convolutional(embeddings="separate", kernel=5, decoder_layers=1), separate),
        "fixed vector": Tiny(_recurrent("fixed"), shared),
        "fixed vector, reversed LSTM": Tiny(
            _recurrent("fixed", cell="lstm", bidirectional=False, reverses_source=True, layers=2), shared
        ),
        "first state alone": Tiny(_recurrent("none", attend="after", bidirectional=False, cell="lstm"), shared),
        "bahdanau": Tiny(_recurrent(readout="maxout", embeddings="tied"), separate),
        "bahdanau, reversed": Tiny(_recurrent(bidirectional=False, reverses_source=True), shared),
        "bahdanau, LSTM": Tiny(_recurrent(cell="lstm", layers=2), shared),
        "bahdanau, Elman": Tiny(_recurrent(cell="rnn"), shared),
        "bahdanau, hard": Tiny(_recurrent("hard"), shared),
        "bahdanau, sparsemax": Tiny(_recurrent(normalise="sparsemax"), shared),
        "bahdanau, entmax": Tiny(_recurrent(normalise="entmax"), shared),
        "luong, dot": Tiny(_recurrent(attend="after", score="dot", input_feeding=True), shared),
        "luong, scaled dot": Tiny(_recurrent(attend="after", score="scaled-dot", layers=2), shared),
        "luong, general": Tiny(_recurrent(attend="after", score="general", embeddings="separate"), separate),
        "luong, concat": Tiny(_recurrent(attend="after", score="additive", input_feeding=True), shared),
        "luong, cosine": Tiny(_recurrent(attend="after", score="cosine"), shared),
        "luong, location": Tiny(_recurrent(attend="after", score="location", num_positions=12), shared),
        "luong, local-m": Tiny(_recurrent("local-m", attend="after", score="dot", window=2), shared),
        "luong, local-m, Gaussian": Tiny(
            _recurrent("local-m", attend="after", score="dot", window=2, gaussian=True, input_feeding=True), shared
        ),
        "luong, local-p": Tiny(_recurrent("local-p", attend="after", score="general", window=2), shared),
    }


@cache
def taught_model(name: str) -> Model:
    """A model that has learned to end its sentences, in eval mode again; not to be changed."""
    model = every_model()[name].build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        loss(model, whole_batch()).backward()
        optimizer.step()
    return model


def whole_batch() -> Batch:
    return collate(SOURCES, TARGETS)


def loss(model: Model, batch: Batch) -> torch.Tensor:
    hidden, output = model.readout(model(batch))
    return smoothed_loss_chunked(hidden[batch.target_mask], output, batch.target[batch.target_mask], 0.1)


ATTENTION = {field.name for field in fields(AttentionSettings)}


def _recurrent(positions: str = "global", **changes: object) -> RecurrentSettings:
    attention = {"positions": positions} | {name: changes[name] for name in changes.keys() & ATTENTION}
    others = {name: changes[name] for name in changes.keys() - ATTENTION}
    return RecurrentSettings(
        **{"d_model": 8, "dropout": 0.3} | others,  # type: ignore[arg-type]
        attention=AttentionSettings(**attention),  # type: ignore[arg-type]
    )


def _convolutional(**changes: object) -> ConvolutionalSettings:
    return ConvolutionalSettings(**{"layers": 2, "d_model": 8, "dropout": 0.3} | changes)  # type: ignore[arg-type]


def _transformer(**changes: object) -> TransformerSettings:
    sizes = {"layers": 2, "d_model": 8, "d_feedforward": 12, "num_heads": 2}
    dropout = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.2}
    return TransformerSettings(**sizes | dropout | changes)  # type: ignore[arg-type]
