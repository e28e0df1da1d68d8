"""Settings of the task of documents. No torch here."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, MultipleOf

from saccade.fields import Checked, Positive, Probability, Size
from saccade.recipe import recipe_of


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


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentsSettings(Checked):
    """Documents whose class is named by one word in one sentence; the same words elsewhere mean nothing."""

    RANGES = (("min_sentences", "max_sentences"),)

    kind: Literal["documents"] = "documents"
    """The task."""
    batch: Positive = 32
    """Documents of a batch."""
    min_sentences: Positive = 4
    """Sentences of the shortest document."""
    max_sentences: Positive = 12
    """Sentences of the longest document."""
    num_words: Annotated[int, Ge(4)] = 8
    """Words of the longest sentence; the shortest has half of them."""
    num_classes: Annotated[int, Ge(2)] = 4
    """Classes, each with a word that names it."""
    vocabulary: Positive = 60
    """Other words, which say nothing."""


RECIPES = (recipe_of(DocumentsSettings, HierarchicalSettings),)
