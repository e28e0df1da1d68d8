"""Scenes of coloured shapes with questions: which colour is left of, right of, above or below a shape?

Every shape stands in a scene once, so that a question has one answer; neither scene nor question alone gives it away.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.errors import ModelError
from saccade.nn.capture import CapturedLayer, capture
from saccade.nn.coattention import AlternatingCoAttention, CoAttended, ParallelCoAttention
from saccade.nn.hierarchical import LearnedQuery
from saccade.nn.masks import mean_of
from saccade.nn.mode import evaluating
from saccade.tasks.generated import ClassificationTask, Labelled, read_number
from saccade.tasks.scenes.settings import CoAttentionSettings, ScenesSettings
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens

RELATIONS = ("left of", "right of", "above", "below")
STEPS = np.array([(0, -1), (0, 1), (-1, 0), (1, 0)])
"""From the shape that is named to the cell that is asked for: rows down, columns to the right."""
ASKS, POLITE = 0, 1
"""Words of every question, then come the relations, then the shapes."""
FIRST_RELATION = 2
FIRST_SHAPE = FIRST_RELATION + len(RELATIONS)


@dataclass(frozen=True, slots=True)
class Scenes(Labelled):
    """Scenes with a question each."""

    colours: Int[Tensor, "batch grid_rows grid_columns"]
    shapes: Int[Tensor, "batch grid_rows grid_columns"]
    question: Int[Tensor, "batch words"]
    """What is asked, a relation and a shape; some begin with a polite word."""
    question_mask: Bool[Tensor, "batch words"]
    label: Int[Tensor, " batch"]
    """The colour that is the answer."""
    place: Int[Tensor, " batch"]
    """The cell that has it, counted row by row: where a model should look."""


class CoAttentionModel(nn.Module):
    """Co-attention (Lu et al. 2016) or, for comparison, less: cells that know their neighbours, words that know each
    other, what is read of both, and the scores of colours.
    """

    def __init__(self, settings: CoAttentionSettings, side: int, num_colours: int, num_words: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.reads = settings.reads
        if self.reads != "question":
            self.colours, self.shapes = nn.Embedding(num_colours, d_model), nn.Embedding(side**2, d_model)
            self.neighbours = nn.Conv2d(d_model, d_model, 3, padding=1)
        if self.reads != "image":
            self.words = nn.Embedding(num_words, d_model)
            self.word_context = nn.Conv1d(d_model, d_model, 3, padding=1)  # the paper's phrase level, with one width
        self.attention = _reader(settings.reads, d_model)
        self.hidden, self.output = nn.Linear(2 * d_model, d_model), nn.Linear(d_model, num_colours)
        for layer in self.children():
            if isinstance(layer, nn.Embedding):  # else the affinity, a tanh, begins saturated
                nn.init.normal_(layer.weight, std=d_model**-0.5)

    def forward(self, batch: Scenes) -> Float[Tensor, "batch classes"]:
        """The logit of every colour."""
        cells = None if self.reads == "question" else self._cells(batch)
        words = None if self.reads == "image" else self._words(batch)
        seen = self.attention(cells, words, None, batch.question_mask)
        logits: Tensor = self.output(self.hidden(torch.cat(seen, dim=-1)).relu())
        return logits

    def _cells(self, batch: Scenes) -> Float[Tensor, "batch regions d_model"]:
        cells = (self.colours(batch.colours) + self.shapes(batch.shapes)).permute(0, 3, 1, 2)
        known: Tensor = cells + self.neighbours(cells).relu()
        return known.flatten(2).mT

    def _words(self, batch: Scenes) -> Float[Tensor, "batch words d_model"]:
        words = (self.words(batch.question) * batch.question_mask[..., None]).mT
        known: Tensor = words + self.word_context(words).relu()
        return known.mT


def _means(image: Tensor, question: Tensor, image_mask: None, question_mask: Tensor) -> CoAttended:
    """Both sides by their mean."""
    return CoAttended(mean_of(image, image_mask), mean_of(question, question_mask))


class OneSide(nn.Module):
    """One side by attention that always asks the same; the other is not there."""

    def __init__(self, d_model: int, *, looks_at_image: bool) -> None:
        super().__init__()
        self.pool = LearnedQuery(d_model, d_model, kind="image" if looks_at_image else "cross")

    def forward(
        self, image: Tensor | None, question: Tensor | None, image_mask: None, question_mask: Tensor
    ) -> CoAttended:
        if image is not None:
            seen = self.pool(image)
            return CoAttended(seen, torch.zeros_like(seen))
        read = self.pool(question, question_mask)
        return CoAttended(torch.zeros_like(read), read)


def _reader(reads: str, d_model: int) -> Callable[..., CoAttended]:
    match reads:
        case "parallel":
            return ParallelCoAttention(d_model, d_model, d_model)
        case "alternating":
            return AlternatingCoAttention(d_model, d_model, d_model)
        case "mean":
            return _means
        case _:
            return OneSide(d_model, looks_at_image=reads == "image")


class ScenesTask(ClassificationTask[ScenesSettings, CoAttentionSettings, Scenes]):
    """Questions about coloured shapes, and where the answer was seen."""

    def build(self) -> CoAttentionModel:
        side = self.task.side
        return CoAttentionModel(self.model, side, self.task.num_colours, num_words=FIRST_SHAPE + side**2)

    def draw(self, random: np.random.Generator, count: int) -> Scenes:
        """`count` scenes. The cell that is asked for lies within the grid."""
        side = self.task.side
        colours = random.integers(0, self.task.num_colours, (count, side, side))
        shapes = random.permuted(np.tile(np.arange(side**2), (count, 1)), axis=1).reshape(count, side, side)
        relation = random.integers(0, len(RELATIONS), count)
        step = STEPS[relation]
        lowest, highest = np.maximum(-step, 0), side - np.maximum(step, 0)  # where the named shape may stand
        named = (lowest + random.random((count, 2)) * (highest - lowest)).astype(int)
        rows, asked = np.arange(count), named + step
        shape = shapes[rows, named[:, 0], named[:, 1]]
        place = asked[:, 0] * side + asked[:, 1]
        question, mask = _questions(relation, shape, random.random(count) < 0.5)
        label = colours[rows, asked[:, 0], asked[:, 1]]
        return Scenes(*map(torch.from_numpy, (colours, shapes, question, mask, label, place)))

    def sample(self, model: nn.Module, batch: Scenes) -> tuple[str, str]:
        """The question, and the colour."""
        return " ".join(spell(batch)), f"colour{int(model(batch)[0].argmax())}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Which cells and which words led to the answer. TEXT is the number of a scene."""
        if not self.model.attends:
            raise ModelError(
                'Weights were asked for, but a model with reads = "mean" has none: all cells and words count alike. '
                'Train one with reads = "parallel".'
            )
        batch = self.example(read_number(text))
        with evaluating(model), capture(model) as captured:
            answer = f"colour{int(model(batch)[0].argmax())}"
        words, side = spell(batch), self.task.side
        return [
            AttentionTrace(
                source=Tokens(tuple(words)),
                target=Tokens((answer,), answer, ((0, len(answer)),)),
                layers=tuple(_layer(layer, len(words)) for layer in captured.layers),
                image=Picture(side, side),
            )
        ]


def spell(batch: Scenes, row: int = 0) -> list[str]:
    """A question of a batch, in words."""
    spelled = "which colour is", "please,", *RELATIONS
    words = batch.question[row][batch.question_mask[row]].tolist()
    return [spelled[word] if word < FIRST_SHAPE else f"shape{word - FIRST_SHAPE}" for word in words]


def _questions(relation: np.ndarray, shape: np.ndarray, polite: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In words, padded at the end."""
    words = np.stack([np.full_like(relation, ASKS), FIRST_RELATION + relation, FIRST_SHAPE + shape], axis=1)
    padded = np.concatenate([words, np.zeros_like(words[:, :1])], axis=1)
    padded[polite] = np.concatenate([np.full_like(words[polite][:, :1], POLITE), words[polite]], axis=1)
    mask = np.ones_like(padded, dtype=bool)
    mask[~polite, -1] = False
    return padded, mask


def _layer(captured: CapturedLayer, words: int) -> Layer:
    """Of the image, or of the question without the padding at its end."""
    weights = captured.calls[0].numpy()[0]
    return Layer(captured.name, captured.kind, weights if captured.kind == "image" else weights[..., :words])


open_task = ScenesTask.of
