"""The settings of every kind of model. No torch here: reading a recipe needs none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerSettings:
    """The Transformer of Vaswani et al. 2017. The defaults are the paper's base model."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"layers": 4, "d_model": 128, "d_feedforward": 256, "num_heads": 4, "dropout": 0.3},
        "small": {"layers": 4, "d_model": 256, "d_feedforward": 1024, "num_heads": 4, "dropout": 0.2},
        "base": {"layers": 6, "d_model": 512, "d_feedforward": 2048, "num_heads": 8, "dropout": 0.1},
        "big": {"layers": 6, "d_model": 1024, "d_feedforward": 4096, "num_heads": 16, "dropout": 0.3},
    }

    kind: Literal["transformer"] = "transformer"
    """The kind of model."""
    layers: int = 6
    """Layers of the encoder, and of the decoder unless decoder_layers says otherwise."""
    decoder_layers: int | None = None
    """Layers of the decoder; as many as the encoder's when absent."""
    d_model: int = 512
    """Size of the vectors between layers."""
    d_feedforward: int = 2048
    """Inner size of the feed-forward layers."""
    num_heads: int = 8
    """Attention heads; d_model is divided among them."""
    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Activation of the feed-forward layers."""
    norm: Literal["post", "pre"] = "post"
    """Layer norm after each residual connection (the paper) or before each sub-layer (easier to train when deep)."""
    dropout: float = 0.1
    """Dropout on the embeddings and on the output of every sub-layer."""
    attention_dropout: float = 0.0
    """Dropout on attention weights. The paper has none, and without it attention takes its fastest path."""
    activation_dropout: float = 0.0
    """Dropout inside the feed-forward layers, after the activation."""
    embeddings: Literal["shared", "tied", "separate"] = "shared"
    """shared: one table for source, target and output (needs a shared vocabulary). tied: one for target and output.
    separate: one for each."""

    def __post_init__(self) -> None:
        problems = []
        for name in ("layers", "d_model", "d_feedforward", "num_heads"):
            if getattr(self, name) < 1:
                problems.append(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.decoder_layers is not None and self.decoder_layers < 1:
            problems.append(f"decoder_layers must be at least 1, not {self.decoder_layers}")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                problems.append(f"{name} must be at least 0 and below 1, not {getattr(self, name)}")
        if not problems and (self.d_model % self.num_heads or self.d_model % 2):
            problems.append(
                f"d_model must be even and a multiple of num_heads, not {self.d_model} with {self.num_heads} heads"
            )
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def num_decoder_layers(self) -> int:
        """Layers of the decoder."""
        return self.layers if self.decoder_layers is None else self.decoder_layers


ModelSettings = TransformerSettings
