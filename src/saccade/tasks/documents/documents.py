"""Documents whose class is named by one word in one sentence: the one with the marker.

Every other sentence may hold class words too, which mean nothing there. Whoever weighs all words alike cannot tell.
"""

from dataclasses import dataclass, fields

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.tasks.documents.settings import DocumentsSettings

PAD, MARKER = 0, 1
"""Then come the words of the classes, then those that say nothing."""
FIRST_CLASS = 2


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents with their classes."""

    words: Int[Tensor, "batch sentences words"]
    mask: Bool[Tensor, "batch sentences words"]
    """True where there is a word; a sentence without any is padding."""
    label: Int[Tensor, " batch"]
    cue: Int[Tensor, " batch"]
    """The sentence that has the marker: where a model should look."""

    @property
    def num_targets(self) -> int:
        """Each document has one class."""
        return len(self.label)

    def to(self, device: torch.device) -> "Documents":
        """The same on another device."""
        return Documents(*(getattr(self, field.name).to(device) for field in fields(self)))


def num_tokens(task: DocumentsSettings) -> int:
    """Of the vocabulary, with padding and marker."""
    return FIRST_CLASS + task.num_classes + task.vocabulary


def spelled(task: DocumentsSettings, word: int) -> str:
    """A word as people read it."""
    if word == MARKER:
        return "MARKER"
    return f"class{word - FIRST_CLASS}" if word < FIRST_CLASS + task.num_classes else f"w{word}"


def draw(task: DocumentsSettings, random: np.random.Generator, count: int) -> Documents:
    """So many documents. Half of their other sentences name a class as well, any of them."""
    sentences = random.integers(task.min_sentences, task.max_sentences + 1, count)
    lengths = random.integers(task.num_words // 2, task.num_words + 1, (count, task.max_sentences))
    shape = (count, task.max_sentences, task.num_words)
    mask = (np.arange(task.num_words) < lengths[..., None]) & (np.arange(task.max_sentences) < sentences[:, None])[
        ..., None
    ]
    words = random.integers(FIRST_CLASS + task.num_classes, num_tokens(task), shape)

    rows = np.arange(count)
    cue, label = random.integers(0, sentences), random.integers(0, task.num_classes, count)
    _name_classes(task, random, words, lengths, but=cue)
    places = _two_places(random, lengths[rows, cue])
    words[rows, cue, places[:, 0]] = MARKER
    words[rows, cue, places[:, 1]] = FIRST_CLASS + label
    words[~mask] = PAD
    return Documents(*map(torch.from_numpy, (words, mask, label, cue)))


def _name_classes(
    task: DocumentsSettings, random: np.random.Generator, words: np.ndarray, lengths: np.ndarray, but: np.ndarray
) -> None:
    """Put a class word at some place of about half of the sentences, but not of the one that counts."""
    chosen = random.random(lengths.shape) < 0.5
    chosen[np.arange(len(but)), but] = False
    place = (random.random(lengths.shape) * lengths).astype(int)
    named = FIRST_CLASS + random.integers(0, task.num_classes, lengths.shape)
    at = np.nonzero(chosen)
    words[(*at, place[at])] = named[at]


def _two_places(random: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
    """Two different places in each of these sentences."""
    first = (random.random(len(lengths)) * lengths).astype(int)
    second = (random.random(len(lengths)) * (lengths - 1)).astype(int)
    return np.stack([first, second + (second >= first)], axis=1)


def of_words(sentences: list[list[int]]) -> Documents:
    """One document of these words, whose class nobody knows."""
    words = np.full((1, len(sentences), max(map(len, sentences))), PAD)
    for place, sentence in enumerate(sentences):
        words[0, place, : len(sentence)] = sentence
    unknown = np.zeros(1, dtype=np.int64)
    return Documents(*map(torch.from_numpy, (words, words != PAD, unknown, unknown)))
