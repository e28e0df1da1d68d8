"""Settings of the hierarchical document classifier. No torch here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class HierarchicalSettings:
    """Hierarchical attention (Yang et al. 2016), and what it is held against."""

    kind: Literal["hierarchical"] = "hierarchical"
    """The kind of model."""
    pooling: Literal["attention", "average", "flat"] = "attention"
    """attention: words to sentences, and sentences to a document, by attention (the paper's HN-ATT). average: by their
    mean (HN-AVE). flat: by attention over all words of the document at once."""
    d_model: int = 64
    """Size of word embeddings and of states, half of it in each direction."""
    dropout: float = 0.0
    """Dropout on the embeddings and on the document's vector."""

    def __post_init__(self) -> None:
        problems = []
        if self.d_model < 2 or self.d_model % 2:
            problems.append(f"d_model must be even and at least 2, not {self.d_model}")
        if not 0 <= self.dropout < 1:
            problems.append(f"dropout must be at least 0 and below 1, not {self.dropout}")
        if problems:
            raise ValueError("; ".join(problems))
