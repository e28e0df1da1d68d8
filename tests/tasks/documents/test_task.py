"""The task of documents: its data, its model against plain loops, and what it shows."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from saccade.data.sampler import Position
from saccade.errors import DataError
from saccade.nn.capture import capture
from saccade.search.settings import SearchSettings
from saccade.tasks.documents.settings import DocumentsSettings, HierarchicalSettings
from saccade.tasks.documents.task import FIRST_CLASS, MARKER, Documents, DocumentsTask, Hierarchical

TASK = DocumentsSettings(batch=16, min_sentences=2, max_sentences=5, num_words=6)
POOLINGS = ("attention", "average", "flat")


def lesson(**model: object) -> DocumentsTask:
    return DocumentsTask(TASK, HierarchicalSettings(d_model=16, **model), SearchSettings())


def drawn(count: int = 16, seed: int = 1) -> Documents:
    return lesson().draw(np.random.default_rng(seed), count)


def model_of(pooling: str) -> Hierarchical:
    torch.manual_seed(1)
    return lesson(pooling=pooling).build().eval().double()


def test_one_sentence_has_the_marker_and_names_the_class():
    batch = drawn(200)
    for words, mask, label, cue in zip(
        *(getattr(batch, name).tolist() for name in ("words", "mask", "label", "cue")), strict=True
    ):
        sentences = [[word for word, real in zip(*row, strict=True) if real] for row in zip(words, mask, strict=True)]
        assert [place for place, sentence in enumerate(sentences) if MARKER in sentence] == [cue]
        named = [word - FIRST_CLASS for word in sentences[cue] if FIRST_CLASS <= word < FIRST_CLASS + TASK.num_classes]
        assert named == [label]
        lengths = [len(sentence) for sentence in sentences if sentence]
        assert TASK.min_sentences <= len(lengths) <= TASK.max_sentences
        assert all(3 <= length <= 6 for length in lengths)
        assert all(not sentence for sentence in sentences[len(lengths) :])


def test_other_sentences_name_classes_too():
    """Otherwise a bag of words would do: a third of documents and more name a class that is not theirs."""
    batch = drawn(200)
    others = (batch.words >= FIRST_CLASS) & (batch.words < FIRST_CLASS + TASK.num_classes)
    wrong = (others & (batch.words != (FIRST_CLASS + batch.label)[:, None, None])).any(dim=(1, 2))
    assert 0.33 < wrong.double().mean() < 1


def loop(model: Hierarchical, batch: Documents, row: int) -> Tensor:
    """HN-ATT in plain loops, a sentence at a time (Yang et al. 2016, eq. 1–10)."""

    def read(cell: torch.nn.GRU, states: Tensor) -> Tensor:
        return cell(states[None])[0][0]

    def pooled(pool: torch.nn.Module, states: Tensor) -> Tensor:
        inner = pool.attention.score.key_map[0]
        scores = [float((inner.weight @ state + inner.bias).tanh() @ pool.query) for state in states]
        exps = [np.exp(score) for score in scores]
        return sum(value / sum(exps) * state for value, state in zip(exps, states, strict=True))

    vectors = []
    for words, mask in zip(batch.words[row], batch.mask[row], strict=True):
        if mask.any():
            vectors.append(pooled(model.word_pool, read(model.words.cell, model.embedding(words[mask]))))
    return model.output(pooled(model.sentence_pool, read(model.sentences.cell, torch.stack(vectors))))


def test_hierarchical_attention_is_that_of_the_paper():
    model, batch = model_of("attention"), drawn(4)
    with torch.no_grad():
        for row, logits in enumerate(model(batch)):
            torch.testing.assert_close(loop(model, batch, row), logits, rtol=0, atol=1e-10)


def test_weights_are_heard_for_words_and_sentences():
    model, batch = model_of("attention"), drawn(4)
    with torch.no_grad(), capture(model) as heard:
        model(batch)
    words, sentences = heard.weights["word_pool.attention"][0], heard.weights["sentence_pool.attention"][0]
    torch.testing.assert_close(sentences.sum(dim=-1), torch.ones_like(sentences[..., 0]))
    assert (words[..., 0, :].squeeze(1)[~batch.mask.flatten(0, 1)] == 0).all()


def test_every_word_stands_in_the_text_that_is_shown():
    taught = lesson()
    trace = taught.show(taught.build(), None)[0]
    assert [trace.source.text[start:end] for start, end in trace.source.spans] == list(trace.source.tokens)


def test_a_text_is_read_as_it_is_written():
    trace = lesson().show(lesson().build(), "w10 w11. MARKER class2 w12.")[0]
    assert trace.source.tokens == ("w10", "w11", "MARKER", "class2", "w12")
    assert trace.target.tokens[0].startswith("class")


def test_an_unknown_word_is_named():
    with pytest.raises(DataError) as error:
        lesson().show(lesson().build(), "w10 dog.")
    assert str(error.value) == (
        "A document must be made of the words MARKER, class0, class1, …, w65, with a full stop after each sentence, "
        "but dog is none of them."
    )


def test_the_task_is_learned():
    """In two seconds; guessing is right in a quarter."""
    taught = DocumentsTask(replace(TASK, batch=32), HierarchicalSettings(d_model=32), SearchSettings())
    torch.manual_seed(1)
    model = taught.build()
    learner = taught.learner(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _, loaded in zip(range(250), taught.batches(Position(), 0, 1), strict=False):
        optimizer.zero_grad()
        (learner(loaded.batch)[0] / 32).backward()
        optimizer.step()
    assert taught.evaluate(model)["accuracy"] > 0.9
