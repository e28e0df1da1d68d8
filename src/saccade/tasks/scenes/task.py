"""The task of scenes: questions about coloured shapes, and where the answer was seen."""

import numpy as np
from torch import Tensor, nn

from saccade.errors import DataError, ModelError
from saccade.nn.capture import CapturedLayer, capture
from saccade.nn.mode import evaluating
from saccade.tasks.generated import TEST, GeneratedTask, classification_loss, held_out
from saccade.tasks.scenes import scenes
from saccade.tasks.scenes.model import CoAttentionModel
from saccade.tasks.scenes.model_settings import CoAttentionSettings
from saccade.tasks.scenes.scenes import Scenes
from saccade.tasks.scenes.settings import ScenesSettings
from saccade.trace.trace import AttentionTrace, Layer, Picture, Tokens


class ScenesTask(GeneratedTask[ScenesSettings, CoAttentionSettings, Scenes]):
    """Scenes that are drawn at random."""

    measure = "accuracy"

    def build(self) -> CoAttentionModel:
        """A new model."""
        return CoAttentionModel(self.model, self.task.side, self.task.num_colours, scenes.num_words(self.task))

    def draw(self, random: np.random.Generator, count: int) -> Scenes:
        """`count` scenes."""
        return scenes.draw(self.task, random, count)

    def loss(self, model: nn.Module, batch: Scenes) -> Tensor:
        """The cross-entropy of all answers."""
        return classification_loss(model, batch)

    def quality(self, model: nn.Module, batch: Scenes) -> float:
        """The share of right answers."""
        return float((model(batch).argmax(dim=-1) == batch.label).double().mean())

    def sample(self, model: nn.Module, batch: Scenes) -> tuple[str, str]:
        """The question, and the colour."""
        return " ".join(self._question(batch)), f"colour{int(model(batch)[0].argmax())}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Which cells and which words led to the answer. TEXT is the number of a scene."""
        if not self.model.attends:
            raise ModelError(
                'Weights were asked for, but a model with reads = "mean" has none: all cells and words count alike. '
                'Train one with reads = "parallel".'
            )
        batch = self.draw(held_out(TEST, _number(text)), 1)
        with evaluating(model), capture(model) as captured:
            answer = f"colour{int(model(batch)[0].argmax())}"
        words = self._question(batch)
        layers = [_layer(each, len(words)) for each in captured.layers]
        return [
            AttentionTrace(
                source=Tokens(tuple(words)),
                target=Tokens((answer,), answer, ((0, len(answer)),)),
                layers=tuple(layers),
                image=Picture(self.task.side, self.task.side),
            )
        ]

    def _question(self, batch: Scenes) -> list[str]:
        """The first question of a batch, in words."""
        return [scenes.spelled(word) for word in batch.question[0][batch.question_mask[0]].tolist()]


def _layer(captured: CapturedLayer, words: int) -> Layer:
    """Of the image, or of the question without the padding at its end."""
    weights = captured.calls[0].numpy()[0]
    return Layer(captured.name, captured.kind, weights if captured.kind == "image" else weights[..., :words])


def _number(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isdecimal():
        raise DataError(f"A scene is named by a number, 0 or more, but {text!r} is none.")
    return int(text)


open_task = ScenesTask.of
