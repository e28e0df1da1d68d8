"""Settings of the task of facets. No torch here."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from saccade.fields import Checked, Positive, Size
from saccade.recipe import recipe_of


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


@dataclass(frozen=True, kw_only=True, slots=True)
class FacetsSettings(Checked):
    """A sequence of things with two facets each; one facet of one thing is asked for, and the other of another."""

    RANGES = (("min_length", "max_length"),)

    kind: Literal["facets"] = "facets"
    """The task."""
    batch: Positive = 64
    """Sequences of a batch."""
    min_length: Annotated[int, Ge(2)] = 4
    """Things of the shortest sequence."""
    max_length: Positive = 10
    """Things of the longest sequence."""
    num_values: Annotated[int, Ge(2)] = 6
    """Values of each facet; there are so many times so many things."""


RECIPES = (recipe_of(FacetsSettings, MultiDimensionalSettings),)
