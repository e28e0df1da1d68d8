"""The settings of learning to describe photographs. No torch here."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval

from saccade.fields import Changeable, Checked, Positive, Probability
from saccade.recipe import Recipe
from saccade.search.settings import SearchSettings
from saccade.tasks.captioning.digits_settings import DigitsSettings
from saccade.tasks.captioning.model_settings import CaptionerSettings
from saccade.training.settings import TrainingSettings


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
    """What is learned, and the data that shows it."""
    model: CaptionerSettings = field(default_factory=CaptionerSettings)
    """What is trained."""
    training: CaptionsTrainingSettings = field(default_factory=CaptionsTrainingSettings)
    """How it is trained."""
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How the finished model searches unless told otherwise."""

    def __post_init__(self) -> None:
        _check_encoder(self.model, "features", 'kind = "captions", whose images are read by a network once')


@dataclass(frozen=True, kw_only=True, slots=True)
class DigitsRecipe(Recipe):
    """The sections of the recipe of scenes of digits."""

    task: DigitsSettings = field(default_factory=DigitsSettings)
    """What is learned, and the data that shows it."""
    model: CaptionerSettings = field(default_factory=lambda: CaptionerSettings(encoder="residual"))
    """What is trained."""

    def __post_init__(self) -> None:
        _check_encoder(self.model, "residual", 'kind = "digits", whose scenes no network has read before')


def _check_encoder(model: CaptionerSettings, wanted: str, task: str) -> None:
    if model.encoder not in (wanted, "blind"):
        raise ValueError(f'model.encoder must be "{wanted}" or "blind" with {task}, not "{model.encoder}"')


RECIPES = (CaptionsRecipe, DigitsRecipe)
