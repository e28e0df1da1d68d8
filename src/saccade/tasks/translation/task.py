"""Translation: text pairs of a prepared corpus, learned by an encoder–decoder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import cast

import tomli_w
from torch import nn

from saccade import settings
from saccade.data.corpus import Example
from saccade.data.loader import Loaded, Resampling, load
from saccade.data.prepare import Prepared
from saccade.data.sampler import Position, Sampler, temper
from saccade.directory import Base, Description, ModelDirectory, save
from saccade.engines.torch import TorchEngine
from saccade.errors import DataError, ModelError, SettingsError
from saccade.evaluation.scores import bleu
from saccade.models.build import Model, build
from saccade.models.fill import fill
from saccade.models.settings import RecurrentSettings
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.loss import TranslationLoss
from saccade.tasks.translation.preparation import prepare_corpus
from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
from saccade.text.tokenizer import Tokenizers
from saccade.trace.trace import AttentionTrace
from saccade.training.adaptation import LowRank, Near, Whole
from saccade.training.learner import Learner
from saccade.training.reporter import Reporter
from saccade.training.task import Parameters, Validation
from saccade.translator import Translator


class Validator:
    """The validation set of one direction, encoded once."""

    def __init__(self, examples: Sequence[Example], tokenizers: Tokenizers, language: str, num_translated: int) -> None:
        self.examples = examples
        self.first = examples[:num_translated]
        self.decode = tokenizers.target.decode
        self.language = language
        self.sources = tokenizers.source.encode_many(example.source for example in examples)
        self.targets = tokenizers.target.encode_many(example.target for example in examples)

    def __call__(self, model: Model, update: int, search: SearchSettings) -> Validation:
        """Score all known translations, translate the first of the sources, and compare."""
        engine = TorchEngine(model)
        log_probs = engine.score(self.sources, self.targets)
        num_tokens = sum(len(target) + 1 for target in self.targets)

        hypotheses = engine.translate(self.sources[: len(self.first)], search)
        texts = [self.decode(best.ids) for best, *_ in hypotheses]
        chosen = update % len(self.first)
        return Validation(
            update=update,
            loss=-sum(log_probs) / num_tokens,
            quality=bleu(texts, [example.target for example in self.first], self.language),
            sample=(self.first[chosen].source, texts[chosen]),
        )


class DirectionsValidator:
    """The validation sets of all directions; each direction counts alike."""

    def __init__(self, prepared: Prepared, num_translated: int) -> None:
        self.validators = {
            str(direction): Validator(
                examples,
                prepared.tokenizers.toward(direction.tag),
                direction.target,
                max(1, num_translated // len(prepared.valid)),
            )
            for direction, examples in prepared.valid.items()
        }

    def __call__(self, model: Model, update: int, search: SearchSettings) -> Validation:
        """That of the one direction, or means over all of them."""
        found = {name: validator(model, update, search) for name, validator in self.validators.items()}
        several = list(found.values())
        chosen = several[update % len(several)]
        if len(several) == 1:
            return chosen
        return replace(
            chosen,
            loss=fmean(validation.loss for validation in several),
            quality=fmean(validation.quality for validation in several),
            parts={name: validation.quality for name, validation in found.items()},
        )


class TranslationTask:
    """A prepared corpus of text pairs, and the model that a recipe wants to learn from it."""

    def __init__(self, recipe: TranslationRecipe, prepared: Prepared | None = None) -> None:
        self.recipe = recipe
        if prepared is not None:
            self.prepared = _validatable(prepared)

    def prepare(self, reporter: Reporter) -> None:
        """Clean, learn tokenizers and encode, unless it has been done."""
        self.prepared = _validatable(prepare_corpus(self.recipe, reporter))

    @cached_property
    def prepared(self) -> Prepared:
        """The corpus below the run directory."""
        return _validatable(Prepared.open(self.recipe.run / "corpus"))

    @cached_property
    def _validator(self) -> DirectionsValidator:
        return DirectionsValidator(self.prepared, self.recipe.training.validation_sentences)

    @property
    def digest(self) -> str:
        """That of the encoded corpus."""
        return self.prepared.digest

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the corpus is cut into."""
        return len(self.sampler().epoch(0))

    @property
    def d_model(self) -> int:
        return self.recipe.model.d_model

    def build(self) -> Model:
        """A new model, or with a warm start one with the parameters of another."""
        tokenizers = self.prepared.tokenizers
        model = build(self.recipe.model, len(tokenizers.source), len(tokenizers.target))
        if path := self.recipe.training.warm_start:
            given = self._base
            if given.tokenizers.checksums != tokenizers.checksums:
                raise ModelError(
                    f"A warm start needs the tokenizers that {path} was trained with, but the corpus was encoded "
                    "with others. Prepare it again with the same `training.warm_start`."
                )
            self._check_same_make(given)
            fill(model, given.parameters(), origin=str(path))
        return model

    def learner(self, model: nn.Module) -> Learner:
        attention = self.recipe.model.attention if isinstance(self.recipe.model, RecurrentSettings) else None
        loss = TranslationLoss(cast(Model, model), self.recipe.training, attention)
        return Learner(model, loss, loss.baseline, adapt(model, self.recipe.training))

    def is_divisible(self, model: nn.Module) -> bool:
        """A batch of pairs has parts."""
        return not cast(Model, model).draws_from_torch and not self.recipe.training.compile

    def sampler(self, rank: int = 0, world: int = 1) -> Sampler:
        """What cuts the corpus into batches."""
        training, train = self.recipe.training, self.prepared.train
        weights = train.weights(self._stream_weights())
        budget = training.batch_tokens
        return Sampler(train.lengths, max_tokens=budget, seed=training.seed, weights=weights, rank=rank, world=world)

    def _stream_weights(self) -> list[float]:
        """How often a pair of each stream is seen in an epoch: by its corpus, and by the number of its direction."""
        data = self.recipe.data
        weights = [data.train[stream.corpus].weight for stream in data.streams]
        directions = [data.directions.index(stream.direction) for stream in data.streams]
        return temper(weights, self.prepared.train.counts, directions, data.temperature)

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """From the store, with subwords sampled again if the recipe wants it."""
        sampling, seed = self.recipe.tokenizer.sampling, self.recipe.training.seed
        resampled = Resampling(self.prepared.tokenizers, sampling, seed, self.recipe.data.max_tokens)
        return load(self.prepared.train, self.sampler(rank, world), start, resampled)

    def place(self, row: int) -> str:
        """File and line of a pair."""
        return self.prepared.train.place(row)

    def validate(self, model: nn.Module, update: int) -> Validation:
        """Loss and BLEU on the validation set."""
        search = SearchSettings(beam=self.recipe.training.validation_beam)
        return self._validator(cast(Model, model), update, search)

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """Loss and BLEU on the validation set, by the search of the recipe."""
        validation = self._validator(cast(Model, model), 0, self.recipe.search)
        parts = {f"BLEU {direction}": quality for direction, quality in validation.parts.items()}
        return {"loss": validation.loss, "BLEU": validation.quality, **parts}

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the model attends to while it translates a text, or an example of the validation set."""
        direction, examples = next(iter(self.prepared.valid.items()))
        source = examples[0].source if text is None else text
        directory = ModelDirectory(self.recipe.run / "model", self._description, self.prepared.tokenizers)
        translator = Translator(directory.toward(direction), TorchEngine(cast(Model, model)))
        translation = translator.translate(source, attention=True)
        assert translation.attention is not None
        return [translation.attention]

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write the model directory, replacing the one that was there."""
        save(path, self._description, self.prepared.tokenizers, parameters, self._card(story))

    @property
    def _description(self) -> Description:
        learned = self.prepared.directions
        start = self._base.description if self.recipe.training.warm_start else None
        base = start.directions if start and learned[0].tag else ()
        return Description(
            directions=tuple(dict.fromkeys((*learned, *base))),
            max_tokens=self.recipe.data.max_tokens,
            model=self.recipe.model,
            search=self.recipe.search,
            alignment=start.alignment if start else None,
            base=self._pinned_base,
        )

    @cached_property
    def _pinned_base(self) -> Base | None:
        """Of a model that is stored as a change to another: that one."""
        lora, share = self.recipe.training.lora, self.recipe.training.start_share
        if lora is None or lora.merged:
            return None
        return Base(path=self._base.path.absolute(), sha256=self._base.checksum(), scale=lora.scale * (1 - share))

    def _check_same_make(self, given: ModelDirectory) -> None:
        """A warm start may change how much is dropped, but not what there is to be learned."""
        changes = settings.differences(given.description.model, self.recipe.model)
        changes = [change for change in changes if "dropout" not in change.path]
        if changes:
            raise SettingsError(
                f"A warm start needs the [model] settings of {given.path}, but they differ",
                [*(f"model.{change}" for change in changes), f"Copy this into the recipe:\n{_model_section(given)}"],
            )

    def _card(self, story: str) -> str:
        """What people should know of a model before they use it."""
        data, prepared = self.recipe.data, self.prepared
        corpora = "\n".join(f"- {' and '.join(path.name for path in corpus.files.values())}" for corpus in data.train)
        base = self._base_card() if self.recipe.training.warm_start else ""
        directions = ", ".join(map(str, self._description.directions))
        return f"""# {directions}, {self.recipe.model.kind}

{story}

## Data

{len(prepared.train):,} pairs after cleaning, from
{corpora}

Validation: {len(prepared.valid_examples):,} pairs.

## Use

Sentences of up to {data.max_tokens} tokens ({directions}), of the kind found in the data above. Other text is
translated too, and less well. It inherits the errors and biases of its data.
{base}"""

    @cached_property
    def _base(self) -> ModelDirectory:
        """The model that training starts from."""
        assert self.recipe.training.warm_start is not None
        return ModelDirectory.open_translator(self.recipe.training.warm_start)

    def _base_card(self) -> str:
        """What the card of the model says that this one started from: its data and licence bind this one, too."""
        quoted = self._base.quoted_card()
        return (
            f"\n## Base model\n\nTraining started from the parameters of {self._base.name}. Its card says:\n\n{quoted}"
        )


def _validatable(prepared: Prepared) -> Prepared:
    """The same; one without validation pairs is refused."""
    empty = [str(direction) for direction, examples in prepared.valid.items() if not examples]
    if empty:
        raise DataError(
            f"Training is validated on pairs that it does not learn from, but there are none ({', '.join(empty)}). "
            "Name a corpus of them as data.valid, or raise data.hold_out."
        )
    return prepared


def adapt(model: nn.Module, settings: TranslationTrainingSettings) -> Whole:
    """How a model may move away from its warm start."""
    if settings.lora is not None:
        return LowRank(model, settings.lora, share=settings.start_share)
    if settings.pull or settings.start_share:
        return Near(model, pull=settings.pull, share=settings.start_share)
    return Whole(model)


def _model_section(given: ModelDirectory) -> str:
    """The [model] section of a recipe for a model like this one."""
    return tomli_w.dumps({"model": settings.table(given.description.model)})


def open_task(recipe: TranslationRecipe, tokenizers: object = None) -> TranslationTask:
    """The task of a recipe; its tokenizers are those of the prepared corpus."""
    return TranslationTask(recipe)
