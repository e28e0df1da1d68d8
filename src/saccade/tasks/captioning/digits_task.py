"""Scenes of digits: which they are from left to right, and whether the model looks at them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning import digits
from saccade.tasks.captioning.digits import SPLITS, SceneBatch
from saccade.tasks.captioning.engine import CaptionEngine
from saccade.tasks.captioning.loss import CaptionLoss
from saccade.tasks.captioning.model import AnyCaptioner, captioner
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.tasks.generated import TEST, TRAIN, GeneratedTask, read_number
from saccade.text.tokenizer import EOS, SPECIALS
from saccade.trace.bitmap import blend, image_address
from saccade.trace.trace import AttentionTrace, Picture, Tokens
from saccade.training.learner import Learner

GREEDY = SearchSettings(beam=1, max_length_extra=8)
EASY = 20
"""Pixels of a side of an easy scene: hardly a cell of it, chosen by chance, lies beside the digit."""
INK = blend((255, 255, 255, 255), (0, 0, 0, 255))


class DigitsTask(GeneratedTask[DigitsSettings, CaptionerSettings, SceneBatch]):
    """Scenes drawn from digits of three splits."""

    measure = "sequence accuracy"

    def build(self) -> AnyCaptioner:
        return captioner(self.model, digits.NUM_TOKENS, depth=1)

    def draw(self, random: np.random.Generator, count: int) -> SceneBatch:
        """`count` scenes to learn from."""
        return digits.scene_batch(digits.scenes(self.task, random, count, "train"))

    def loss(self, model: nn.Module, batch: SceneBatch) -> tuple[Tensor, Tensor]:
        """The cross-entropy of all captions, without what training adds to it."""
        return CaptionLoss()(cast(AnyCaptioner, model), batch)

    def learner(self, model: nn.Module) -> Learner:
        """The model with its loss."""
        loss = CaptionLoss()
        return Learner(model, loss, loss.baseline)

    def quality(self, model: nn.Module, batch: SceneBatch) -> float:
        """The share of scenes whose digits are all named, and in order."""
        found = CaptionEngine(cast(AnyCaptioner, model)).describe(batch.images, GREEDY)
        wanted = [tuple(row[mask][:-1].tolist()) for row, mask in zip(batch.target, batch.target_mask, strict=True)]
        return float(np.mean([each[0].ids == caption for each, caption in zip(found, wanted, strict=True)]))

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """On scenes of digits that training never showed; with the attention that lies on the digit being named."""
        figures = dict(super().evaluate(model))
        if self.model.attends:
            shares = [mass(cast(AnyCaptioner, model), batch) for batch in self.fixed(TEST, self.num_test)]
            figures["attention on the digit"] = float(np.mean(shares))
        return figures

    def sample(self, model: nn.Module, batch: SceneBatch) -> tuple[str, str]:
        """A scene's digits, and those that are named."""
        found = CaptionEngine(cast(AnyCaptioner, model)).describe(batch.images[:1], GREEDY)
        return _spelled(batch.target[0][batch.target_mask[0]].tolist()), _spelled(list(found[0][0].ids))

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Where in a scene was looked for each digit; a TEXT is the number of the scene."""
        random = self.random(TEST, read_number(text))
        batch = digits.scene_batch(digits.scenes(self.task, random, 1, "test"))
        engine = CaptionEngine(cast(AnyCaptioner, model))
        (found,) = engine.describe(batch.images, GREEDY)
        (traced,) = engine.trace(batch.images, [found[0].ids])
        cells = batch.images.shape[-1] // 4
        picture = Picture(cells, cells, image_address(batch.images[0, 0].double().numpy(), INK))
        names = tuple(_name(id) for id in (*found[0].ids, EOS))
        return [
            AttentionTrace(
                source=Tokens(()),
                target=Tokens(names),
                layers=traced.layers,
                log_prob=found[0].log_prob,
                score=found[0].score,
                token_log_probs=traced.token_log_probs,
                image=picture,
            )
        ]

    def _batch(self, stream: int, number: int) -> SceneBatch:
        is_easy = stream == TRAIN and number < self.task.easy
        task = replace(self.task, digits=1, fewest=1, clutter=0, size=EASY) if is_easy else self.task
        return digits.scene_batch(digits.scenes(task, self.random(stream, number), task.batch, SPLITS[stream]))


def mass(model: AnyCaptioner, batch: SceneBatch) -> float:
    """The mean share of attention on the digit being named, over layers and heads."""
    with evaluating(model), capture(model) as captured:
        model(batch)
    layers = [layer.weights.mean(dim=1) for layer in captured.layers if layer.kind == "image"]
    return digits.mass_on_digits(torch.stack(layers).mean(dim=0), batch)


def _spelled(ids: list[int]) -> str:
    return " ".join(str(id - digits.FIRST_DIGIT) for id in ids if id >= digits.FIRST_DIGIT)


def _name(id: int) -> str:
    """A digit, or a special that an untrained model may write."""
    return str(id - digits.FIRST_DIGIT) if id >= digits.FIRST_DIGIT else SPECIALS[id]
