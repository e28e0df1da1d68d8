"""Settings of the hierarchical document classifier. No torch here."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MultipleOf

from saccade.fields import Checked, Probability, Size


@dataclass(frozen=True, kw_only=True, slots=True)
class HierarchicalSettings(Checked):
    """Hierarchical attention (Yang et al. 2016), and what it is held against."""

    kind: Literal["hierarchical"] = "hierarchical"
    """The kind of model."""
    pooling: Literal["attention", "average", "flat"] = "attention"
    """attention: words to sentences, and sentences to a document, by attention (the paper's HN-ATT). average: by their
    mean (HN-AVE). flat: by attention over all words of the document at once."""
    d_model: Annotated[Size, MultipleOf(2)] = 64
    """Size of word embeddings and of states, half of it in each direction."""
    dropout: Probability = 0.0
    """Dropout on the embeddings and on the document's vector."""
