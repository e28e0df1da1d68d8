"""The settings of captioning: photographs, or generated scenes of digits. No torch here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Gt, Interval, Le, MultipleOf

from saccade.fields import Changeable, Checked, Layers, NotNegative, Positive, Probability, Size, Weight
from saccade.recipe import Recipe
from saccade.search.settings import SearchSettings
from saccade.training.settings import TrainingSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionerSettings(Checked):
    """Show, Attend and Tell (Xu et al. 2015), or a Transformer's decoder on the same grid of cells."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tiny": {"d_model": 64, "dropout": 0.0},
        "small": {"d_model": 256, "dropout": 0.3},
        "base": {"d_model": 512, "dropout": 0.3},
    }

    kind: Literal["captioner"] = "captioner"
    """The kind of model."""
    encoder: Literal["features", "residual", "blind"] = "features"
    """What gives the grid: features, a network that has been trained before and is not changed; residual, a small one
    that learns along; blind, none, to see what a decoder knows of language alone."""
    decoder: Literal["lstm", "transformer"] = "lstm"
    """What writes: the paper's LSTM, or a Transformer's decoder."""
    attention: Literal["soft", "hard", "mean"] = "soft"
    """decoder = "lstm": soft reads a weighted mean of all cells; hard one cell, chosen by chance in training; mean, for
    comparison, the same mean of all cells at every step."""
    d_model: Annotated[Size, MultipleOf(8)] = 256
    """Size of embeddings, states and cells."""
    dropout: Probability = 0.3
    """Dropout on the cells, on the embeddings and before the output layer."""
    coverage: Weight = 1.0
    """decoder = "lstm": weight λ of Σᵢ(1 - Σₜ αₜᵢ)², which asks that in the course of a caption every cell be looked
    at."""
    sampling: Annotated[float, Gt(0), Le(1)] = 0.5
    """attention = "hard": share of images whose cells are sampled in training; the others are read by expectation."""
    reward: Weight = 0.1
    """attention = "hard": weight λ_r of the REINFORCE term."""
    entropy: Weight = 0.002
    """attention = "hard": weight λ_e of the entropy term, which keeps choices open."""
    layers: Layers = 2
    """decoder = "transformer": its layers."""
    d_feedforward: Size = 512
    """decoder = "transformer": inner size of its feed-forward layers."""
    num_heads: Size = 4
    """decoder = "transformer": attention heads; d_model is divided among them."""

    def conflicts(self) -> Iterator[str]:
        if self.decoder == "transformer" and self.attention != "soft":
            yield (
                f'attention = "{self.attention}" goes with decoder = "lstm" only: a Transformer attends softly in '
                "every layer"
            )
        if self.decoder == "transformer" and self.d_model % self.num_heads:
            yield f"d_model must be a multiple of num_heads, not {self.d_model} with {self.num_heads} heads"

    @property
    def attends(self) -> bool:
        return self.attention != "mean"


@dataclass(frozen=True, kw_only=True, slots=True)
class DigitsSettings(Checked):
    """Handwritten digits strewn over clutter, to be named from left to right."""

    RANGES = (("fewest", "digits"),)

    kind: Literal["digits"] = "digits"
    """The task."""
    size: Annotated[int, Interval(ge=16, le=10_000), MultipleOf(4)] = 40
    """Pixels of a side of a scene; at least 40 for more than one digit."""
    digits: Annotated[int, Interval(ge=1, le=3)] = 3
    """Digits of the fullest scene."""
    fewest: Positive = 1
    """Digits of the emptiest scene."""
    clutter: NotNegative = 6
    """Pieces of other digits that lie between them and are not to be named."""
    easy: NotNegative = 600
    """The first so many batches of a training have one digit that fills most of the scene, and no clutter: what a digit
    is, is learned sooner so, and what to look at with it."""
    batch: Positive = 64
    """Scenes of a batch."""

    def conflicts(self) -> Iterator[str]:
        if self.digits > 1 and self.size < 40:
            yield f"size must be at least 40 for {self.digits} digits, not {self.size}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionsSettings(Checked):
    """A folder of images, and what people said of them."""

    kind: Literal["captions"] = "captions"
    """The task."""
    images: Path
    """The folder of the images."""
    train: Path
    """Their captions: a table (image name, tab, caption), or the JSON of Karpathy's splits."""
    valid: Path
    """The same of images that are not learned from; of JSON, its split `val`."""
    language: str = "en"
    """The language of the captions, such as en or zh."""
    network: Path
    """The parameters of EfficientNet-Lite0, a safetensors file; docs/captions.md says how to get it."""
    features: Path
    """Directory for what the network makes of the images, computed once; about 125 kB an image."""
    vocabulary: Annotated[int, Interval(ge=5, le=1_000_000)] = 3000
    """Pieces of the subword vocabulary that is learned from the captions, the 4 specials included."""
    lowercase: bool = True
    """Captions are learned and written in lower case."""
    batch: Positive = 16
    """Images of a batch; each comes with all its captions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionsTrainingSettings(TrainingSettings):
    """How a model that describes photographs is trained."""

    label_smoothing: Probability = 0.1
    """Probability that is taken from the right token and spread over all others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionsRecipe(Recipe):
    """The sections of the recipe of photographs and their captions."""

    task: CaptionsSettings
    model: CaptionerSettings = field(default_factory=CaptionerSettings)
    training: CaptionsTrainingSettings = field(default_factory=CaptionsTrainingSettings)
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How the finished model searches unless told otherwise."""

    def __post_init__(self) -> None:
        _check_encoder(self.model, "features", 'kind = "captions", whose images are read by a network once')


@dataclass(frozen=True, kw_only=True, slots=True)
class DigitsRecipe(Recipe):
    """The sections of the recipe of scenes of digits."""

    task: DigitsSettings = field(default_factory=DigitsSettings)
    model: CaptionerSettings = field(default_factory=lambda: CaptionerSettings(encoder="residual"))

    def __post_init__(self) -> None:
        _check_encoder(self.model, "residual", 'kind = "digits", whose scenes no network has read before')


def _check_encoder(model: CaptionerSettings, wanted: str, task: str) -> None:
    if model.encoder not in (wanted, "blind"):
        raise ValueError(f'model.encoder must be "{wanted}" or "blind" with {task}, not "{model.encoder}"')


RECIPES = (CaptionsRecipe, DigitsRecipe)
