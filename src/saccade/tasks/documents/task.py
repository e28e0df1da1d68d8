"""Documents whose class is named by one word in one sentence: the one with the marker.

Every other sentence may hold class words too, which mean nothing there. Whoever weighs all words alike cannot tell.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.errors import DataError, ModelError
from saccade.nn.capture import capture
from saccade.nn.dropout import Dropout
from saccade.nn.hierarchical import LearnedQuery
from saccade.nn.masks import mean_of
from saccade.nn.mode import evaluating
from saccade.tasks.documents.settings import DocumentsSettings, HierarchicalSettings
from saccade.tasks.generated import ClassificationTask, Labelled
from saccade.trace.trace import AttentionTrace, Layer, Tokens

PAD, MARKER = 0, 1
"""Then come the words of the classes, then those that say nothing."""
FIRST_CLASS = 2


@dataclass(frozen=True, slots=True)
class Documents(Labelled):
    """Documents with their classes."""

    words: Int[Tensor, "batch sentences words"]
    mask: Bool[Tensor, "batch sentences words"]
    """True where there is a word; a sentence without any is padding."""
    label: Int[Tensor, " batch"]
    cue: Int[Tensor, " batch"]
    """The sentence that has the marker: where a model should look."""


class Hierarchical(nn.Module):
    """Bidirectional GRUs over words and over sentences, each pooled to one vector; then the scores of the classes
    (Yang et al. 2016), and its two baselines.
    """

    def __init__(self, settings: HierarchicalSettings, num_tokens: int, num_classes: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.settings = settings
        self.embedding = nn.Embedding(num_tokens, d_model)
        self.dropout = Dropout(settings.dropout)
        self.words, self.word_pool = _Reader(d_model), _pool(settings, d_model)
        if settings.pooling != "flat":
            self.sentences, self.sentence_pool = _Reader(d_model), _pool(settings, d_model)
        self.output = nn.Linear(d_model, num_classes)

    def forward(self, batch: Documents) -> Float[Tensor, "batch classes"]:
        batch_size, num_sentences, _ = batch.words.shape
        read = self.words(self.dropout(self.embedding(batch.words)).flatten(0, 1), batch.mask.flatten(0, 1))
        if self.settings.pooling == "flat":
            document = self.word_pool(read.view(batch_size, -1, read.shape[-1]), batch.mask.flatten(1))
        else:
            pooled = self.word_pool(read, batch.mask.flatten(0, 1)).view(batch_size, num_sentences, -1)
            exists = batch.mask.any(dim=-1)
            document = self.sentence_pool(self.sentences(pooled, exists), exists)
        logits: Tensor = self.output(self.dropout(document))
        return logits


class _Reader(nn.Module):
    """A GRU in both directions; states of what is masked are zero."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.cell = nn.GRU(d_model, d_model // 2, bidirectional=True, batch_first=True)

    def forward(
        self, states: Float[Tensor, "rows positions d_model"], mask: Bool[Tensor, "rows positions"]
    ) -> Float[Tensor, "rows positions d_model"]:
        lengths = mask.sum(dim=1)
        real = lengths > 0  # a sentence of padding has nothing to be read
        packed = pack_padded_sequence(states[real], lengths[real].cpu(), batch_first=True, enforce_sorted=False)
        read, _ = pad_packed_sequence(self.cell(packed)[0], batch_first=True, total_length=states.shape[1])
        return torch.zeros_like(states).masked_scatter(real[:, None, None], read)


def _pool(settings: HierarchicalSettings, d_model: int) -> Callable[[Tensor, Tensor], Tensor]:
    return mean_of if settings.pooling == "average" else LearnedQuery(d_model, d_model, kind="cross")


class DocumentsTask(ClassificationTask[DocumentsSettings, HierarchicalSettings, Documents]):
    """Which class, and which word of which sentence says so."""

    def build(self) -> Hierarchical:
        return Hierarchical(self.model, self._num_tokens, self.task.num_classes)

    @property
    def _num_tokens(self) -> int:
        return FIRST_CLASS + self.task.num_classes + self.task.vocabulary

    def draw(self, random: np.random.Generator, count: int) -> Documents:
        """`count` documents. Half of their other sentences name a class as well, any of them."""
        task, rows = self.task, np.arange(count)
        sentences = random.integers(task.min_sentences, task.max_sentences + 1, count)
        lengths = random.integers(task.num_words // 2, task.num_words + 1, (count, task.max_sentences))
        lengths_of_real = np.where(np.arange(task.max_sentences) < sentences[:, None], lengths, 0)
        mask = np.arange(task.num_words) < lengths_of_real[..., None]
        words = random.integers(FIRST_CLASS + task.num_classes, self._num_tokens, mask.shape)

        cue, label = random.integers(0, sentences), random.integers(0, task.num_classes, count)
        _name_classes(task, random, words, lengths, but=cue)
        places = _two_places(random, lengths[rows, cue])
        words[rows, cue, places[:, 0]] = MARKER
        words[rows, cue, places[:, 1]] = FIRST_CLASS + label
        words[~mask] = PAD
        return Documents(*map(torch.from_numpy, (words, mask, label, cue)))

    def sample(self, model: nn.Module, batch: Documents) -> tuple[str, str]:
        """The sentence that counts, and the class."""
        cue = self._sentences(batch)[int(batch.cue[0])]
        return " ".join(cue), f"class{int(model(batch)[0].argmax())}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """How much each word counts: within its sentence, and times the weight of that sentence."""
        if self.model.pooling == "average":
            raise ModelError(
                'Weights were asked for, but a model with pooling = "average" has none: all words count alike. '
                'Train one with pooling = "attention".'
            )
        batch = self.example() if text is None else self._read(text)
        with evaluating(model), capture(model) as captured:
            label = f"class{int(model(batch)[0].argmax())}"
        sentences, mask = self._sentences(batch), batch.mask[0].numpy()
        weights = {name: calls[0].numpy() for name, calls in captured.weights.items()}
        if self.model.pooling == "flat":
            layers = [Layer("word_pool", "cross", weights["word_pool.attention"][0][..., mask.flatten()])]
        else:
            of_sentence = weights["sentence_pool.attention"][0, 0, 0]
            of_word = weights["word_pool.attention"][:, 0, 0] * of_sentence[:, None]
            even = np.broadcast_to((of_sentence / mask.sum(axis=1).clip(min=1))[:, None], mask.shape)
            layers = [
                Layer("sentences", "cross", even[mask][None, None]),
                Layer("words", "cross", of_word[mask][None, None]),
            ]
        source = _tokens(sentences)
        return [AttentionTrace(source=source, target=Tokens((label,), label, ((0, len(label)),)), layers=tuple(layers))]

    def _sentences(self, batch: Documents) -> list[list[str]]:
        """The first document of a batch, in words."""
        rows = zip(batch.words[0].tolist(), batch.mask[0].tolist(), strict=True)
        spelled = [[self._spell(word) for word in words[: sum(mask)]] for words, mask in rows]
        return [sentence for sentence in spelled if sentence]

    def _read(self, text: str) -> Documents:
        """A document as people write it: words of the vocabulary, sentences ended by full stops."""
        known = {self._spell(word): word for word in range(1, self._num_tokens)}
        sentences = [sentence.split() for sentence in text.split(".") if sentence.strip()]
        unknown = [word for sentence in sentences for word in sentence if word not in known]
        if unknown or not sentences:
            raise DataError(
                f"A document must be made of the words {', '.join(list(known)[:3])}, …, {list(known)[-1]}, with a full "
                f"stop after each sentence, but {f'{unknown[0]} is none of them' if unknown else 'it is empty'}."
            )
        words = np.full((1, len(sentences), max(map(len, sentences))), PAD)
        for place, sentence in enumerate(sentences):
            words[0, place, : len(sentence)] = [known[word] for word in sentence]
        unknown_class = np.zeros(1, dtype=np.int64)
        return Documents(*map(torch.from_numpy, (words, words != PAD, unknown_class, unknown_class)))

    def _spell(self, word: int) -> str:
        """A word as people read it."""
        if word == MARKER:
            return "MARKER"
        return f"class{word - FIRST_CLASS}" if word < FIRST_CLASS + self.task.num_classes else f"w{word}"


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


def _tokens(sentences: list[list[str]]) -> Tokens:
    """All words of a document, and the text that they are."""
    words = [word for sentence in sentences for word in sentence]
    text = ". ".join(" ".join(sentence) for sentence in sentences) + "."
    spans, place = [], 0
    for word in words:
        place = text.index(word, place)
        spans.append((place, place + len(word)))
        place += len(word)
    return Tokens(tuple(words), text, tuple(spans))


open_task = DocumentsTask.of
