"""The settings of models that say what is in an image. No torch here: reading a recipe needs none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionerSettings:
    """Show, Attend and Tell (Xu et al. 2015), or a Transformer's decoder on the same grid of cells."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"d_model": 64, "dropout": 0.0},
        "small": {"d_model": 256, "dropout": 0.3},
        "base": {"d_model": 512, "dropout": 0.3},
    }

    kind: Literal["captioner"] = "captioner"
    """The kind of model."""
    encoder: Literal["features", "residual", "blind"] = "features"
    """What gives the grid: features, a network that has been trained before and is not changed; residual, a small one
    that learns along; blind, none, to see what a decoder knows of language alone."""
    decoder: Literal["lstm", "transformer"] = "lstm"
    """What writes: the paper's LSTM, or a Transformer's decoder."""
    attention: Literal["soft", "hard", "mean"] = "soft"
    """decoder = "lstm": soft reads a weighted mean of all cells; hard one cell, chosen by chance in training; mean, for
    comparison, the same mean of all cells at every step."""
    d_model: int = 256
    """Size of embeddings, states and cells."""
    dropout: float = 0.3
    """Dropout on the cells, on the embeddings and before the output layer."""
    coverage: float = 1.0
    """decoder = "lstm": weight λ of Σᵢ(1 - Σₜ αₜᵢ)², which asks that in the course of a caption every cell be looked
    at."""
    sampling: float = 0.5
    """attention = "hard": share of images whose cells are sampled in training; the others are read by expectation."""
    reward: float = 0.1
    """attention = "hard": weight λ_r of the REINFORCE term."""
    entropy: float = 0.002
    """attention = "hard": weight λ_e of the entropy term, which keeps choices open."""
    layers: int = 2
    """decoder = "transformer": its layers."""
    d_feedforward: int = 512
    """decoder = "transformer": inner size of its feed-forward layers."""
    num_heads: int = 4
    """decoder = "transformer": attention heads; d_model is divided among them."""

    def __post_init__(self) -> None:
        least = {"layers": 1, "d_model": 8, "d_feedforward": 1, "num_heads": 1}
        least |= {"coverage": 0, "reward": 0, "entropy": 0}
        problems = [
            f"{name} must be at least {bound}, not {getattr(self, name)}"
            for name, bound in least.items()
            if not getattr(self, name) >= bound
        ]
        if not 0 <= self.dropout < 1:
            problems.append(f"dropout must be at least 0 and below 1, not {self.dropout}")
        if not 0 < self.sampling <= 1:
            problems.append(f"sampling must be above 0 and at most 1, not {self.sampling}")
        if self.d_model % 8:
            problems.append(f"d_model must be a multiple of 8, not {self.d_model}")
        if self.decoder == "transformer" and self.attention != "soft":
            problems.append(
                f'attention = "{self.attention}" goes with decoder = "lstm" only: a Transformer attends softly in '
                "every layer"
            )
        if not problems and self.decoder == "transformer" and self.d_model % self.num_heads:
            problems.append(f"d_model must be a multiple of num_heads, not {self.d_model} with {self.num_heads} heads")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention, whose weights can be looked at."""
        return self.attention != "mean"
