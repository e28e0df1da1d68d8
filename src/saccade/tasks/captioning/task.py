"""Captioning: photographs with what people said of them, learned from features that are computed once; or digits."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import nn

from saccade import settings
from saccade.data.loader import Loaded
from saccade.data.sampler import Position
from saccade.directory import Description, save
from saccade.engines.engine import Advanced
from saccade.engines.tracing import written_tokens
from saccade.errors import DataError
from saccade.evaluation.scores import CorpusScore, bleu_tokenization
from saccade.evaluation.significance import Interval, chosen_seed, counted, interval, resampled, score
from saccade.nn.images import D_EFFICIENT
from saccade.nn.mode import evaluating
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.batch import CaptionBatch, CaptionCorpus
from saccade.tasks.captioning.digits import DigitsTask
from saccade.tasks.captioning.engine import CaptionEngine, caption_trace
from saccade.tasks.captioning.features import SIZE, EfficientNet, Features, features
from saccade.tasks.captioning.images import Captioned, form, pixels, read_captions
from saccade.tasks.captioning.loss import CaptionLoss
from saccade.tasks.captioning.model import AnyCaptioner, captioner
from saccade.tasks.captioning.settings import CaptionsRecipe, DigitsRecipe
from saccade.text.languages import language_of
from saccade.text.tokenizer import Tokenizer, Tokenizers, TokenizerSettings
from saccade.trace.trace import AttentionTrace, Picture
from saccade.training.learner import Learner
from saccade.training.reporter import Reporter
from saccade.training.task import Parameters, Task, Validation

NUM_VALIDATED = 200
"""Images that a validation looks at; an evaluation looks at all."""
GREEDY = SearchSettings(beam=1, max_length_extra=40)
COVERAGE = {"zh": 0.9995, "ja": 0.9995}
"""Share of the characters that get a piece each, where there are thousands."""


class PhotographsTask:
    """A folder of images with captions, and the model that learns to write such. Keeps `Task` of training/task.py."""

    def __init__(self, recipe: CaptionsRecipe, tokenizer: Tokenizer | None = None) -> None:
        """With the tokenizer of a finished model, no other is learned."""
        self.task, self.model, self.search, self.training = recipe.task, recipe.model, recipe.search, recipe.training
        if tokenizer is not None:
            self.tokenizer = tokenizer

    def prepare(self, reporter: Reporter) -> None:
        """Compute the features of all images, unless they are there."""
        for split, images in (("valid", self.valid), ("train", self.train)):
            self.features(split, images, partial(_report, reporter, f"features, {split}", len(images)))

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Learned from the captions."""
        language = language_of(self.task.language)
        chosen = TokenizerSettings(
            vocabulary=self.task.vocabulary, character_coverage=COVERAGE.get(language, 1.0), sampling=0.0
        )
        return Tokenizer.learn((self._cased(text) for each in self.train for text in each.captions), chosen, seed=1)

    @cached_property
    def train(self) -> list[Captioned]:
        """What is learned from."""
        return read_captions(self.task.train, self.task.images, split="train")

    @cached_property
    def valid(self) -> list[Captioned]:
        """What is not."""
        return read_captions(self.task.valid, self.task.images, split="val")

    @cached_property
    def network(self) -> EfficientNet:
        """What describes images."""
        return EfficientNet(self.task.network)

    def features(self, split: str, images: Sequence[Captioned], advanced: Advanced = lambda _: None) -> Features:
        """Those of the images of a split, computed if need be; `advanced` is called with the number done."""
        path, paths, network = self.task.features / f"{split}.npy", [each.image for each in images], self.network
        return features(path, paths, network, size=SIZE, network=network.checksum, advanced=advanced)

    @cached_property
    def corpus(self) -> CaptionCorpus:
        """The training captions in tokens."""
        return self._corpus("train", self.train)

    @cached_property
    def valid_corpus(self) -> CaptionCorpus:
        """The validation captions in tokens."""
        return self._corpus("valid", self.valid)

    @property
    def digest(self) -> str:
        """That of captions, features and what else decides a batch."""
        decisive = [settings.table(self.task), self.training.seed, self.network.checksum, self.tokenizer.checksum]
        captions = [(each.image.name, each.captions) for each in self.train]
        return hashlib.sha256(json.dumps([decisive, captions], sort_keys=True, default=str).encode()).hexdigest()

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the images are cut into."""
        return self.corpus.num_batches(self.task.batch)

    @property
    def d_model(self) -> int:
        return self.model.d_model

    def build(self) -> AnyCaptioner:
        return captioner(self.model, len(self.tokenizer), depth=D_EFFICIENT)

    def learner(self, model: nn.Module) -> Learner:
        loss = CaptionLoss(self.training.label_smoothing)
        return Learner(model, loss, loss.baseline)

    def is_divisible(self, model: nn.Module) -> bool:
        """Captions of an image stay together."""
        return False

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        per_epoch = self.batches_per_epoch
        for first in count(start.epoch * per_epoch + start.batch, world):
            chosen = self.corpus.chosen(first + rank, images=self.task.batch, seed=self.training.seed)
            position = Position(*divmod(first + world, per_epoch))
            yield Loaded(position, np.array(chosen), self.corpus.of(chosen))

    def place(self, row: int) -> str:
        """Which image."""
        return f"{self.task.train}, {self.train[row].image.name}"

    def validate(self, model: nn.Module, update: int) -> Validation:
        """Loss and BLEU of greedy captions of the first images of the validation set."""
        first = range(min(NUM_VALIDATED, len(self.valid)))
        with evaluating(model):
            said = self._described(model, first, GREEDY)
            chosen = update % len(first)
            return Validation(
                update=update,
                loss=self._loss(model, first),
                quality=self._bleu(said, first).value,
                sample=(self.valid[chosen].captions[0], said[chosen]),
            )

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """BLEU-4 on the whole validation set with its bootstrap interval, as captions are written and bare of
        punctuation, as papers on captions have it.
        """
        every = range(len(self.valid))
        with evaluating(model):
            figures, said = {"loss": self._loss(model, every)}, self._described(model, every, self.search)
        changes: dict[str, Callable[[str], str]] = {"BLEU": str, "bare BLEU": bare}
        for name, change in changes.items():
            score = self._bleu(said, every, change)
            assert score.interval is not None
            figures |= {
                name: score.value,
                f"{name}, lower": score.interval.lower,
                f"{name}, upper": score.interval.upper,
            }
        return figures | {"different captions": len(set(said)) / len(said)}

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Where in an image was looked for each piece; a TEXT is the path of the image."""
        return self.traces(model, [self.valid[0].image if text is None else Path(text)])

    def traces(self, model: nn.Module, images: Sequence[Path]) -> list[AttentionTrace]:
        """What is said of each image, and where was looked."""
        grids = torch.from_numpy(self.network(np.stack([pixels(image, SIZE) for image in images])))
        engine = CaptionEngine(cast(AnyCaptioner, model))
        captions = [best for best, *_ in engine.describe(grids, self.search)]
        traced = engine.trace(grids, [caption.ids for caption in captions])
        targets = [written_tokens(self.tokenizer, replace(caption, finished=True)) for caption in captions]
        rows, columns = grids.shape[1:3]
        pictures = [Picture(rows, columns, _address(image), form(image)) for image in images]
        return list(map(caption_trace, traced, captions, targets, pictures))

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        description = Description(task=self.task, model=self.model, search=self.search)
        number = sum(len(each.captions) for each in self.train)
        card = (
            f"# Captions, {self.task.language}, {self.model.kind}\n\n{story}\n\n## Data\n\n{number:,} captions of "
            f"{len(self.train):,} images, from {self.task.train.name}. It inherits their errors and biases.\n"
        )
        save(path, description, Tokenizers(self.tokenizer, self.tokenizer), parameters, card)

    def _corpus(self, split: str, given: Sequence[Captioned]) -> CaptionCorpus:
        ids = [self.tokenizer.encode_many(map(self._cased, each.captions)) for each in given]
        return CaptionCorpus(self.features(split, given), [each.image.name for each in given], ids)

    def _cased(self, text: str) -> str:
        return text.lower() if self.task.lowercase else text

    def _loss(self, model: nn.Module, images: Sequence[int]) -> float:
        loss = CaptionLoss()
        total, number = 0.0, 0
        for batch in self._batches(images):
            total, number = total + float(loss(cast(AnyCaptioner, model), batch)[1]), number + batch.num_targets
        return total / number

    def _batches(self, images: Sequence[int]) -> Iterator[CaptionBatch]:
        return (self.valid_corpus.of(images[at : at + 16]) for at in range(0, len(images), 16))

    def _described(self, model: nn.Module, images: Sequence[int], search: SearchSettings) -> list[str]:
        engine = CaptionEngine(cast(AnyCaptioner, model))
        found = [each[0] for batch in self._batches(images) for each in engine.describe(batch.images, search)]
        return [self.tokenizer.decode(each.ids) for each in found]

    def _bleu(self, said: Sequence[str], images: Sequence[int], change: Callable[[str], str] = str) -> CorpusScore:
        known = [[change(text) for text in self.valid[image].captions] for image in images]
        return caption_bleu([change(text) for text in said], known, language=self.task.language)


def _report(reporter: Reporter, stage: str, total: int, done: int) -> None:
    reporter.preparing(stage, done, total, "images")


def _address(image: Path) -> str:
    """The file itself where a page can show it."""
    kind = {".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png", ".gif": "gif", ".webp": "webp"}.get(image.suffix.lower())
    return f"data:image/{kind};base64,{base64.b64encode(image.read_bytes()).decode()}" if kind else ""


def caption_bleu(
    captions: Sequence[str], references: Sequence[Sequence[str]], *, language: str, samples: int = 1000
) -> CorpusScore:
    """BLEU-4 of lower-cased text. An image may have more captions than another; those missing are left out."""
    from sacrebleu.metrics.bleu import BLEU

    if len(captions) != len(references) or not captions or not all(references):
        raise DataError(
            f"Every caption is scored against one caption or more of its image, but there are {len(captions)} captions "
            f"and {sum(1 for each in references if each)} images with any. Give as many of both."
        )
    metric = BLEU(lowercase=True, tokenize=bleu_tokenization(language), force=True)
    most = max(len(each) for each in references)
    columns = [[each[at] if at < len(each) else None for each in references] for at in range(most)]
    # sacreBLEU takes None for no reference, and says not so.
    references_by_file = cast(Sequence[Sequence[str]], columns)
    whole = metric.corpus_score(list(captions), references_by_file)
    counts = counted(metric, captions, references_by_file)
    assert abs(score(metric, counts) - whole.score) < 1e-6
    within: Interval = interval(resampled(metric, counts, samples=samples, seed=chosen_seed()[0]))
    return CorpusScore("BLEU", whole.score, metric.get_signature().format(), within)


def bare(text: str) -> str:
    """Without punctuation, as captions are compared in the literature."""
    return " ".join("".join(each if each.isalnum() else " " for each in text).split())


def open_task(recipe: CaptionsRecipe | DigitsRecipe, tokenizers: Tokenizers | None = None) -> Task:
    """The task of a recipe, with the tokenizers of a finished model if there is one."""
    if isinstance(recipe, DigitsRecipe):
        return DigitsTask.of(recipe)
    return PhotographsTask(recipe, None if tokenizers is None else tokenizers.target)
