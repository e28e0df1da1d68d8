"""Settings of looking up values by their keys, and of the model that learns it. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupSettings:
    """Pairs of a key and a value, new in every example, and one of the keys again: its value is wanted."""

    kind: Literal["lookup"] = "lookup"
    """The task."""
    batch: int = 64
    """Examples of a batch."""
    min_pairs: int = 4
    """Pairs of the smallest example."""
    max_pairs: int = 12
    """Pairs of the largest example."""
    num_keys: int = 24
    """Different keys; none comes twice in an example."""
    num_values: int = 24
    """Different values."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("min_pairs", 1), ("num_values", 2))
            if getattr(self, name) < least
        ]
        if not self.min_pairs <= self.max_pairs <= self.num_keys:
            problems.append(
                f"max_pairs must be from min_pairs to num_keys, here from {self.min_pairs} to {self.num_keys}, "
                f"not {self.max_pairs}"
            )
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrieverSettings:
    """Embeddings and one layer of multi-head attention (Vaswani et al. 2017, §3.2.2), or the mean of all pairs."""

    kind: Literal["retriever"] = "retriever"
    """The kind of model."""
    reads: Literal["attention", "mean"] = "attention"
    """How the pairs become one vector. attention: by the key that is asked for. mean: all pairs count alike."""
    d_model: int = 64
    """Size of embeddings."""
    num_heads: int = 2
    """Heads of attention."""

    def __post_init__(self) -> None:
        if self.num_heads < 1 or self.d_model < 1 or self.d_model % self.num_heads:
            raise ValueError(
                f"d_model must be a multiple of num_heads, and both at least 1, not {self.d_model} and {self.num_heads}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupRecipe(Recipe):
    """The sections of the recipe of looking up."""

    task: LookupSettings = field(default_factory=LookupSettings)
    """What is learned, and the data that shows it."""
    model: RetrieverSettings = field(default_factory=RetrieverSettings)
    """What is trained."""


RECIPES = (LookupRecipe,)
