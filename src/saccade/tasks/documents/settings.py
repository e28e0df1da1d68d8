"""Settings of the task of documents. No torch here."""

from dataclasses import dataclass, field
from typing import Literal

from saccade.recipe import Recipe
from saccade.tasks.documents.model_settings import HierarchicalSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentsSettings:
    """Documents whose class is named by one word in one sentence; the same words elsewhere mean nothing."""

    kind: Literal["documents"] = "documents"
    """The task."""
    batch: int = 32
    """Documents of a batch."""
    min_sentences: int = 4
    """Sentences of the shortest document."""
    max_sentences: int = 12
    """Sentences of the longest document."""
    num_words: int = 8
    """Words of the longest sentence; the shortest has half of them."""
    num_classes: int = 4
    """Classes, each with a word that names it."""
    vocabulary: int = 60
    """Other words, which say nothing."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in (("batch", 1), ("min_sentences", 1), ("num_words", 4), ("num_classes", 2))
            if getattr(self, name) < least
        ]
        if self.max_sentences < self.min_sentences:
            problems.append(
                f"max_sentences must be at least min_sentences, which is {self.min_sentences}, not {self.max_sentences}"
            )
        if self.vocabulary < 1:
            problems.append(f"vocabulary must be at least 1, not {self.vocabulary}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentsRecipe(Recipe):
    """The sections of the recipe of documents."""

    task: DocumentsSettings = field(default_factory=DocumentsSettings)
    """What is learned, and the data that shows it."""
    model: HierarchicalSettings = field(default_factory=HierarchicalSettings)
    """What is trained."""


RECIPES = (DocumentsRecipe,)
