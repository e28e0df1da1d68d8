"""Scenes of handwritten digits among clutter, to be named from left to right (after Mnih et al. 2014, cluttered MNIST).

The 1797 digits come with scikit-learn. The splits share no digit: what is tested was written by nobody seen in a
training scene, not even as clutter. Where each digit lies is known, so that looking can be judged as well as saying.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from typing import Literal, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.errors import MissingDependency
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.batch import CaptionBatch, collate_captions
from saccade.tasks.captioning.engine import CaptionEngine, caption_trace
from saccade.tasks.captioning.loss import CaptionLoss
from saccade.tasks.captioning.model import AnyCaptioner, captioner
from saccade.tasks.captioning.settings import CaptionerSettings, DigitsSettings
from saccade.tasks.generated import TEST, TRAIN, GeneratedTask, read_number
from saccade.text.tokenizer import EOS, SPECIALS
from saccade.trace.bitmap import blend, image_address
from saccade.trace.trace import AttentionTrace, Picture, Tokens
from saccade.training.learner import Learner

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
"""In the order of the streams of lessons/generated.py."""

SIDE, PIECE = 14, 7
"""Pixels of a side of a digit, and of a piece of clutter."""
APART = 7
"""Pixels at least that one digit begins to the right of another, so that their order is plain to see."""
TRIES = 20
"""Places that are drawn at once, for one that suits."""
NOWHERE = -SIDE
"""Where a digit begins that is not there."""
FIRST_DIGIT = EOS + 1
NUM_TOKENS = FIRST_DIGIT + 10
"""Specials and digits."""

Drawing = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scene:
    """An image, and what is to be said of it."""

    image: Drawing
    """Rows × columns, from 0 (paper) to 1 (ink)."""
    digits: tuple[int, ...]
    """From left to right."""
    boxes: tuple[tuple[int, int], ...]
    """The row and the column at which each of them begins; all are SIDE × SIDE pixels."""

    @property
    def caption(self) -> list[int]:
        """The digits as tokens."""
        return [FIRST_DIGIT + digit for digit in self.digits]


@dataclass(frozen=True, slots=True)
class SceneBatch(CaptionBatch):
    """Scenes side by side, with where the digits lie."""

    boxes: Int[Tensor, "batch digits 2"]
    """The row and the column at which each digit begins, from left to right; NOWHERE after the last."""

    @property
    def num_digits(self) -> int:
        """In all scenes together."""
        return int((self.boxes[..., 0] != NOWHERE).sum())


def scenes(settings: DigitsSettings, random: np.random.Generator, count: int, split: Split) -> list[Scene]:
    """So many scenes of digits of a split."""
    return [_scene(random, settings, split) for _ in range(count)]


def scene_batch(drawn: list[Scene]) -> SceneBatch:
    """Scenes side by side, to learn from."""
    images = torch.from_numpy(np.stack([scene.image for scene in drawn]))[:, None]
    batch = collate_captions(images, [scene.caption for scene in drawn])
    most = max(len(scene.boxes) for scene in drawn)
    boxes = torch.tensor([[*scene.boxes, *[(NOWHERE, NOWHERE)] * (most - len(scene.boxes))] for scene in drawn])
    return SceneBatch(batch.images, batch.prefix, batch.target, batch.target_mask, batch.image_of, boxes)


def cells_of(boxes: Int[Tensor, "batch digits 2"], size: int, cells: int) -> Bool[Tensor, "batch digits key"]:
    """Which of cells × cells lie on each digit, row by row: those whose middle lies in its box."""
    middles = (torch.arange(cells) + 0.5) * size / cells
    within = (middles >= boxes[..., None]) & (middles < boxes[..., None] + SIDE)
    return (within[..., 0, :, None] & within[..., 1, None, :]).flatten(-2)


def mass_on_digits(weights: Float[Tensor, "batch target key"], batch: SceneBatch) -> float:
    """The mean share of attention that lies on the digit being named; the end of a caption names none."""
    cells, digits = math.isqrt(weights.shape[-1]), batch.boxes.shape[1]
    on = cells_of(batch.boxes, batch.images.shape[-1], cells)
    return float((weights[:, :digits] * on).sum() / batch.num_digits)


def split_of(picture: Drawing) -> Split:
    """The split that a digit belongs to, told by its pixels alone: 70 % train, 10 % valid, 20 % test."""
    fate = int.from_bytes(hashlib.sha256(np.ascontiguousarray(picture).tobytes()).digest()[:4]) % 10
    return "test" if fate < 2 else "valid" if fate == 2 else "train"


def _scene(random: np.random.Generator, settings: DigitsSettings, split: Split) -> Scene:
    pictures, labels = _digits(split)
    image = np.zeros((settings.size, settings.size), dtype=np.float32)
    boxes = _boxes(random, settings)
    chosen = random.integers(len(labels), size=len(boxes))
    for (row, column), which in zip(boxes, chosen, strict=True):
        image[row : row + SIDE, column : column + SIDE] = pictures[which]
    if settings.clutter:
        _strew(random, image, boxes, pictures[random.integers(len(labels), size=settings.clutter)])
    return Scene(image, tuple(int(labels[which]) for which in chosen), tuple(boxes))


def _boxes(random: np.random.Generator, settings: DigitsSettings) -> list[tuple[int, int]]:
    """From left to right, none over another: the first of some tries that is so."""
    number = int(random.integers(settings.fewest, settings.digits + 1))
    one, other = np.triu_indices(number, k=1)
    while True:
        tries = random.integers(settings.size - SIDE + 1, size=(TRIES, number, 2))
        tries = np.take_along_axis(tries, tries[..., 1:].argsort(axis=1), axis=1)
        gaps = np.abs(tries[:, other] - tries[:, one])
        good = ((gaps.max(axis=-1) >= SIDE) & (gaps[..., 1] >= APART)).all(axis=-1)
        if good.any():
            return [(int(row), int(column)) for row, column in tries[good.argmax()]]


def _strew(
    random: np.random.Generator, image: Drawing, boxes: list[tuple[int, int]], pictures: NDArray[np.float32]
) -> None:
    """Lay a piece of each picture somewhere beside the digits; where there is hardly any room, leave it."""
    cuts = random.integers(SIDE - PIECE + 1, size=(len(pictures), 2))
    tries = random.integers(len(image) - PIECE + 1, size=(len(pictures), TRIES, 2))
    beyond = tries[:, :, None] - np.array(boxes)
    free = ~((beyond > -PIECE) & (beyond < SIDE)).all(axis=-1).any(axis=-1)
    for which in free.any(axis=1).nonzero()[0]:
        (down, across), (row, column) = cuts[which], tries[which, free[which].argmax()]
        under = image[row : row + PIECE, column : column + PIECE]
        np.maximum(under, pictures[which, down : down + PIECE, across : across + PIECE], out=under)


@cache
def _digits(split: Split) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The digits of a split, SIDE × SIDE, and what they are."""
    if find_spec("sklearn") is None:
        raise MissingDependency(
            "The digits task needs scikit-learn, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )
    from sklearn.datasets import load_digits

    bundle = load_digits()
    small = (bundle.images / 16).astype(np.float32)
    own = [place for place, picture in enumerate(small) if split_of(picture) == split]
    return np.stack([_enlarged(small[place]) for place in own]), bundle.target[own].astype(np.int64)


def _enlarged(picture: Drawing) -> Drawing:
    """8 × 8 pixels to SIDE × SIDE, in straight lines between their middles."""
    places = np.clip((np.arange(SIDE) + 0.5) * len(picture) / SIDE - 0.5, 0, len(picture) - 1)
    hats = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(len(picture))))
    return np.asarray(hats @ picture @ hats.T, dtype=np.float32)


GREEDY = SearchSettings(beam=1, max_length_extra=8)
EASY = 20
"""Pixels of a side of an easy scene: hardly a cell of it, chosen by chance, lies beside the digit."""
INK = blend((255, 255, 255, 255), (0, 0, 0, 255))


class DigitsTask(GeneratedTask[DigitsSettings, CaptionerSettings, SceneBatch]):
    """Scenes drawn from digits of three splits."""

    measure = "sequence accuracy"

    def build(self) -> AnyCaptioner:
        return captioner(self.model, NUM_TOKENS, depth=1)

    def draw(self, random: np.random.Generator, count: int) -> SceneBatch:
        return scene_batch(scenes(self.task, random, count, "train"))

    def loss(self, model: nn.Module, batch: SceneBatch) -> tuple[Tensor, Tensor]:
        """The cross-entropy of all captions, without what training adds to it."""
        return CaptionLoss()(cast(AnyCaptioner, model), batch)

    def learner(self, model: nn.Module) -> Learner:
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
        batch = scene_batch(scenes(self.task, random, 1, "test"))
        engine = CaptionEngine(cast(AnyCaptioner, model))
        ((best, *_),) = engine.describe(batch.images, GREEDY)
        (traced,) = engine.trace(batch.images, [best.ids])
        cells = batch.images.shape[-1] // 4
        picture = Picture(cells, cells, image_address(batch.images[0, 0].double().numpy(), INK))
        names = Tokens(tuple(_name(id) for id in (*best.ids, EOS)))
        return [caption_trace(traced, best, names, picture)]

    def _batch(self, stream: int, number: int) -> SceneBatch:
        is_easy = stream == TRAIN and number < self.task.easy
        task = replace(self.task, digits=1, fewest=1, clutter=0, size=EASY) if is_easy else self.task
        random = self.random(stream, number)
        return scene_batch(scenes(task, random, task.batch, SPLITS[stream]))


def mass(model: AnyCaptioner, batch: SceneBatch) -> float:
    """The mean share of attention on the digit being named, over layers and heads."""
    with evaluating(model), capture(model) as captured:
        model(batch)
    layers = [layer.weights.mean(dim=1) for layer in captured.layers if layer.kind == "image"]
    return mass_on_digits(torch.stack(layers).mean(dim=0), batch)


def _spelled(ids: list[int]) -> str:
    return " ".join(str(id - FIRST_DIGIT) for id in ids if id >= FIRST_DIGIT)


def _name(id: int) -> str:
    """A digit, or a special that an untrained model may write."""
    return str(id - FIRST_DIGIT) if id >= FIRST_DIGIT else SPECIALS[id]
