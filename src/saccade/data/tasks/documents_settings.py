"""Settings of the task of documents. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge

from saccade.fields import Checked, Positive


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentsSettings(Checked):
    """Documents whose class is named by one word in one sentence; the same words elsewhere mean nothing."""

    MODELS: ClassVar[tuple[str, ...]] = ("hierarchical",)

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

    def conflicts(self) -> Iterator[str]:
        if self.max_sentences < self.min_sentences:
            yield (
                f"max_sentences must be at least min_sentences, which is {self.min_sentences}, not {self.max_sentences}"
            )
