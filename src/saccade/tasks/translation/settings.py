"""The recipe of translation, the task that a recipe is of unless it says otherwise. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from annotated_types import Interval

from saccade.data.settings import DataSettings
from saccade.fields import Changeable, ModelPath, Positive, Probability, Weight
from saccade.models.settings import ModelSettings, RecurrentSettings, TransformerSettings
from saccade.recipe import Recipe
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import TokenizerSettings
from saccade.training.reporter import Reporter
from saccade.training.settings import LoraSettings, TrainingSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationSettings:
    """Text from one language into another; the sections `data` and `tokenizer` say more."""

    kind: Literal["translation"] = "translation"
    """The task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationTrainingSettings(TrainingSettings):
    """How a model that translates is trained."""

    batch_tokens: Positive = 4096
    """Tokens of a batch on its longer side, padding included."""
    label_smoothing: Probability = 0.1
    """Probability that is taken from the right token and spread over all others."""
    consistency: Weight = 0.0
    """R-Drop (Liang et al. 2021), for small corpora: each batch is read twice, under different dropout, and the loss
    gets this times the divergence between the two. 1 to 3 is usual (half of the paper's α); 0 is off. An update
    takes about twice as long."""
    validation_sentences: Changeable[Positive] = 2000
    """How many sentences of the validation set are translated for BLEU, at most."""
    validation_beam: Changeable[Annotated[int, Interval(ge=1, le=1000)]] = 1
    """Beam of the translations made for validation."""
    warm_start: ModelPath | None = None
    """A model directory, or hf:OWNER/NAME on a hub, whose parameters the run starts from; it must have the same
    settings and tokenizers."""
    pull: Weight = 0.0
    """Pull back to the parameters of `warm_start`: every update moves each of them back by this times the learning
    rate times its distance (L2 to the start, decoupled from Adam as in AdamW). 0 is off."""
    start_share: Probability = 0.0
    """Share of `warm_start` in the models that are validated and saved: the average of its parameters with those that
    were trained (Wortsman et al. 2022). Guards against forgetting; 0.5 is a good start."""
    lora: LoraSettings | None = None
    """Train a change of low rank to the model of `warm_start` instead of all its parameters."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 multiplies matrices with 8 bits of precision (autocast), where the hardware is faster that way;
    parameters, loss and validation stay in float32."""
    compile: Changeable[bool] = False
    """Compile the model with torch.compile, which takes a minute or more; worth a try on a GPU."""

    def conflicts(self) -> Iterator[str]:
        yield from TrainingSettings.conflicts(self)
        restraints = {"pull": self.pull, "start_share": self.start_share, "lora": self.lora}
        given = [name for name, value in restraints.items() if value]
        for name in given:
            if self.warm_start is None:
                yield f"{name} needs a warm_start, which it keeps the model close to. Set it, or remove {name}"
            if self.shard:
                yield f"{name} goes with shard = false only: the start is not sharded"
        if self.pull and self.lora:
            yield "pull and lora must not both be given: LoRA freezes what pull would hold back. Remove one"


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationRecipe(Recipe):
    """The sections of the recipe of a translator."""

    task: TranslationSettings = field(default_factory=TranslationSettings)
    data: DataSettings
    """Which files to learn from."""
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    """How text becomes tokens."""
    model: ModelSettings = field(default_factory=TransformerSettings)
    training: TranslationTrainingSettings = field(default_factory=TranslationTrainingSettings)
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How the finished model translates unless told otherwise."""

    def __post_init__(self) -> None:
        if len(self.data.directions) > 1 and not self.tokenizer.shared:
            raise ValueError(
                f"data has {len(self.data.directions)} directions, which need one vocabulary for all languages, but "
                "tokenizer.shared is false. Set tokenizer.shared = true"
            )
        if self.model.embeddings == "shared" and not self.tokenizer.shared:
            raise ValueError(
                'model.embeddings = "shared" needs one vocabulary for both languages, but tokenizer.shared is false. '
                'Set tokenizer.shared = true, or model.embeddings = "tied"'
            )
        if not isinstance(self.model, RecurrentSettings):
            return
        if self.model.attention.positions == "hard" and self.training.consistency:
            raise ValueError(
                'training.consistency must be 0 with model.attention.positions = "hard": two readings that sample '
                "different words need not agree"
            )
        if self.model.attention.score == "location":
            attention, longest = self.model.attention, self.data.max_tokens + 1 + (len(self.data.directions) > 1)
            if attention.num_positions < longest and not attention.truncates:
                raise ValueError(
                    f"model.attention.num_positions must be at least {longest}, the longest source with its end "
                    f"(data.max_tokens + 1), not {attention.num_positions}: a location score has no other positions. "
                    "Raise it, lower data.max_tokens, or set model.attention.truncates = true"
                )

    def prepare(self, reporter: Reporter) -> None:
        """The same as the task does, without torch."""
        from saccade.tasks.translation.preparation import prepare_corpus  # which knows this class

        prepare_corpus(self, reporter)

    def resolved(self) -> "TranslationRecipe":
        """A warm start brings its own tokenizers, whatever the section says; one on a hub is fetched."""
        if self.training.warm_start is None:
            return self
        from saccade.directory import ModelDirectory  # which knows this class
        from saccade.locate import locate_model

        start = locate_model(self.training.warm_start)
        own = ModelDirectory.open_translator(start).tokenizers
        kind, size = own.source.kind, len(own.source)
        return replace(
            self,
            tokenizer=replace(self.tokenizer, kind=kind, vocabulary=size, shared=own.shares_vocabulary),
            training=replace(self.training, warm_start=start),
        )


RECIPES = (TranslationRecipe,)
