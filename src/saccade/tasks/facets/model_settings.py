"""Settings of the classifier with multi-dimensional attention. No torch here."""

from dataclasses import dataclass
from typing import Literal

from saccade.fields import Checked, Size


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiDimensionalSettings(Checked):
    """DiSAN (Shen et al. 2018): directional self-attention with weights for each feature; or one weight for all."""

    kind: Literal["multidimensional"] = "multidimensional"
    """The kind of model."""
    pooling: Literal["features", "scalar"] = "features"
    """How the sequence becomes one vector. features: each feature has weights of its own (the paper's source2token).
    scalar: one weight a token, for all features."""
    d_model: Size = 32
    """Size of embeddings and of states."""
