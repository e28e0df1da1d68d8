"""Settings of looking up values by their keys, and of the model that learns it. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from saccade.fields import Checked, Positive, Size
from saccade.recipe import recipe_of


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupSettings(Checked):
    """Pairs of a key and a value, new in every example, and one of the keys again: its value is wanted."""

    RANGES = (("min_pairs", "max_pairs"), ("max_pairs", "num_keys"))

    kind: Literal["lookup"] = "lookup"
    """The task."""
    batch: Positive = 64
    """Examples of a batch."""
    min_pairs: Positive = 4
    """Pairs of the smallest example."""
    max_pairs: Positive = 12
    """Pairs of the largest example."""
    num_keys: Positive = 24
    """Different keys; none comes twice in an example."""
    num_values: Annotated[int, Ge(2)] = 24
    """Different values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrieverSettings(Checked):
    """Embeddings and one layer of multi-head attention (Vaswani et al. 2017, §3.2.2), or the mean of all pairs."""

    kind: Literal["retriever"] = "retriever"
    """The kind of model."""
    reads: Literal["attention", "mean"] = "attention"
    """How the pairs become one vector. attention: by the key that is asked for. mean: all pairs count alike."""
    d_model: Size = 64
    """Size of embeddings."""
    num_heads: Positive = 2
    """Heads of attention."""

    def conflicts(self) -> Iterator[str]:
        if self.d_model % self.num_heads:
            yield f"d_model must be a multiple of num_heads, not {self.d_model} with {self.num_heads} heads"


RECIPES = (recipe_of(LookupSettings, RetrieverSettings),)
