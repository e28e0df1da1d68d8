"""Text pairs: the lesson of every model that translates."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from torch import nn

from saccade import directory, settings
from saccade.data.loader import Loaded, Resampling, load
from saccade.data.prepare import Prepared
from saccade.data.sampler import Position, Sampler
from saccade.directory import ModelDirectory
from saccade.engines.torch import fill
from saccade.errors import ModelError, SettingsError
from saccade.lessons.translations import Validator
from saccade.models.build import Model, build
from saccade.models.settings import RecurrentSettings
from saccade.recipe import Recipe
from saccade.training.learner import Learner
from saccade.training.lesson import Parameters, Validation


class Pairs:
    """A prepared corpus of text pairs, and the model that a recipe wants to learn from it."""

    def __init__(self, recipe: Recipe, prepared: Prepared) -> None:
        self.recipe, self.prepared = recipe, prepared
        self._validator = Validator(
            prepared.valid_examples, prepared.tokenizers, recipe.data.target_language, recipe.training
        )

    @property
    def digest(self) -> str:
        """That of the encoded corpus."""
        return self.prepared.digest

    @property
    def batches_per_epoch(self) -> int:
        """How many batches the corpus is cut into."""
        return len(self.sampler().epoch(0))

    def build(self) -> Model:
        """A new model, or with a warm start one that goes on learning."""
        tokenizers = self.prepared.tokenizers
        model = build(self.recipe.model, len(tokenizers.source), len(tokenizers.target))
        if path := self.recipe.training.warm_start:
            given = ModelDirectory.open(path)
            if given.tokenizers.checksums != tokenizers.checksums:
                raise ModelError(
                    f"A warm start needs the tokenizers that {path} was trained with, but the corpus was encoded "
                    "with others. Prepare it again with the same `training.warm_start`."
                )
            self._check_same_make(given)
            fill(model, given.parameters(), origin=str(path))
        return model

    def learner(self, model: nn.Module) -> Learner:
        """The model with its loss."""
        attention = self.recipe.model.attention if isinstance(self.recipe.model, RecurrentSettings) else None
        return Learner(cast(Model, model), self.recipe.training, attention)

    def is_divisible(self, model: nn.Module) -> bool:
        """A batch of pairs has parts."""
        return not cast(Model, model).draws_from_torch

    def sampler(self, rank: int = 0, world: int = 1) -> Sampler:
        """What cuts the corpus into batches."""
        training, train = self.recipe.training, self.prepared.train
        weights = train.weights([corpus.weight for corpus in self.recipe.data.train])
        budget = training.batch_tokens
        return Sampler(train.lengths, max_tokens=budget, seed=training.seed, weights=weights, rank=rank, world=world)

    def batches(self, start: Position, rank: int, world: int) -> Iterator[Loaded]:
        """From the store, with subwords sampled anew if the recipe wants it."""
        sampling, seed = self.recipe.tokenizer.sampling, self.recipe.training.seed
        resampled = Resampling(self.prepared.tokenizers, sampling, seed, self.recipe.data.max_tokens)
        return load(self.prepared.train, self.sampler(rank, world), start, resampled)

    def place(self, row: int) -> str:
        """File and line of a pair."""
        return self.prepared.train.place(row)

    def validate(self, model: nn.Module, update: int) -> Validation:
        """Loss and BLEU on the validation set."""
        return self._validator(cast(Model, model), update)

    def save(self, path: Path, parameters: Parameters, story: str) -> None:
        """Write the model directory, in place of the one that was there."""
        data = self.recipe.data
        description = directory.Description(
            source_language=data.source_language,
            target_language=data.target_language,
            max_tokens=data.max_tokens,
            model=self.recipe.model,
            search=self.recipe.search,
        )
        directory.save(path, description, self.prepared.tokenizers, parameters, self._card(story))

    def _check_same_make(self, given: ModelDirectory) -> None:
        """A warm start may change how much is dropped, but not what there is to be learned."""
        changes = settings.differences(given.description.model, self.recipe.model)
        changes = [change for change in changes if "dropout" not in change.path]
        if changes:
            raise SettingsError(
                f"A warm start needs the [model] settings of {given.path}, but here they are others. "
                "Take its settings over, or train from the beginning",
                [f"model.{change}" for change in changes],
            )

    def _card(self, story: str) -> str:
        """What people should know of a model before they use it."""
        data, prepared = self.recipe.data, self.prepared
        corpora = "\n".join(f"- {' and '.join(path.name for path in corpus.files.values())}" for corpus in data.train)
        return f"""# {data.source_language} → {data.target_language}, {self.recipe.model.kind}

{story}

## Data

{len(prepared.train):,} pairs after cleaning, from
{corpora}

Validation: {len(prepared.valid_examples):,} pairs.

## Use

Sentences of up to {data.max_tokens} tokens from {data.source_language} to {data.target_language}, of the kind
found in the data above. Other text is translated too, and less well. It inherits the errors and biases of its data.
"""
