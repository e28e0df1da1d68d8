"""Every model that the contracts are run on: a line more in `every_model`, and a new one has to keep them all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch

from saccade.models.build import Model, build
from saccade.models.settings import ModelSettings, TransformerSettings
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings


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
    }


def _transformer(**changes: object) -> TransformerSettings:
    sizes = {"layers": 2, "d_model": 8, "d_feedforward": 12, "num_heads": 2}
    dropout = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.2}
    return TransformerSettings(**sizes | dropout | changes)  # type: ignore[arg-type]
