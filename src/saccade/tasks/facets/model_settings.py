"""Settings of the classifier with multi-dimensional attention. No torch here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiDimensionalSettings:
    """DiSAN (Shen et al. 2018): directional self-attention with weights for each feature; or one weight for all."""

    kind: Literal["multidimensional"] = "multidimensional"
    """The kind of model."""
    pooling: Literal["features", "scalar"] = "features"
    """How the sequence becomes one vector. features: each feature has weights of its own (the paper's source2token).
    scalar: one weight a token, for all features."""
    d_model: int = 32
    """Size of embeddings and of states."""

    def __post_init__(self) -> None:
        if self.d_model < 1:
            raise ValueError(f"d_model must be at least 1, not {self.d_model}")
