"""The task of documents: which class, and which word of which sentence says so."""

import numpy as np
from torch import Tensor, nn

from saccade.errors import DataError, ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.tasks.documents import documents
from saccade.tasks.documents.documents import Documents
from saccade.tasks.documents.model import Hierarchical
from saccade.tasks.documents.model_settings import HierarchicalSettings
from saccade.tasks.documents.settings import DocumentsSettings
from saccade.tasks.generated import TEST, GeneratedTask, classification_loss, held_out
from saccade.trace.trace import AttentionTrace, Layer, Tokens


class DocumentsTask(GeneratedTask[DocumentsSettings, HierarchicalSettings, Documents]):
    """Documents in generated words."""

    measure = "accuracy"

    def build(self) -> Hierarchical:
        """A new model."""
        return Hierarchical(self.model, documents.num_tokens(self.task), self.task.num_classes)

    def draw(self, random: np.random.Generator, count: int) -> Documents:
        """`count` documents."""
        return documents.draw(self.task, random, count)

    def loss(self, model: nn.Module, batch: Documents) -> Tensor:
        """The cross-entropy of all answers."""
        return classification_loss(model, batch)

    def quality(self, model: nn.Module, batch: Documents) -> float:
        """The share of right classes."""
        return float((model(batch).argmax(dim=-1) == batch.label).double().mean())

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
        batch = self.draw(held_out(TEST), 1) if text is None else self._read(text)
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
        spelled = [[documents.spelled(self.task, word) for word in words[: sum(mask)]] for words, mask in rows]
        return [sentence for sentence in spelled if sentence]

    def _read(self, text: str) -> Documents:
        """A document as people write it: words of the vocabulary, sentences ended by full stops."""
        known = {documents.spelled(self.task, word): word for word in range(1, documents.num_tokens(self.task))}
        sentences = [sentence.split() for sentence in text.split(".") if sentence.strip()]
        unknown = [word for sentence in sentences for word in sentence if word not in known]
        if unknown or not sentences:
            raise DataError(
                f"A document must be made of the words {', '.join(list(known)[:3])}, …, {list(known)[-1]}, with a full "
                f"stop after each sentence, but {f'{unknown[0]} is none of them' if unknown else 'it is empty'}."
            )
        return documents.of_words([[known[word] for word in sentence] for sentence in sentences])


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
