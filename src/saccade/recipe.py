"""A recipe: everything a training run is made from, in one TOML file. No torch here.

One with [data] learns to translate; one with a [task] learns that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade import settings
from saccade.data.settings import DataSettings
from saccade.data.tasks.captions_settings import CaptionsSettings
from saccade.data.tasks.digits_settings import DigitsSettings
from saccade.data.tasks.documents_settings import DocumentsSettings
from saccade.data.tasks.episodes_settings import EpisodesSettings
from saccade.data.tasks.facets_settings import FacetsSettings
from saccade.data.tasks.glyphs_settings import GlyphsSettings
from saccade.data.tasks.points_settings import PointsSettings
from saccade.data.tasks.scenes_settings import ScenesSettings
from saccade.fields import Changeable
from saccade.models.captioner_settings import CaptionerSettings
from saccade.models.coattention_settings import CoAttentionSettings
from saccade.models.feature_map_settings import FeatureMapSettings
from saccade.models.hierarchical_settings import HierarchicalSettings
from saccade.models.multidimensional_settings import MultiDimensionalSettings
from saccade.models.pointer_settings import PointerSettings
from saccade.models.settings import ModelSettings, RecurrentSettings, TransformerSettings
from saccade.models.turing_settings import LstmSettings, TuringSettings
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import TokenizerSettings
from saccade.training.settings import TrainingSettings

TaskSettings = (
    DocumentsSettings
    | ScenesSettings
    | GlyphsSettings
    | FacetsSettings
    | PointsSettings
    | EpisodesSettings
    | DigitsSettings
    | CaptionsSettings
)
"""Every task other than translation."""
TaskModelSettings = (
    HierarchicalSettings
    | CoAttentionSettings
    | FeatureMapSettings
    | MultiDimensionalSettings
    | PointerSettings
    | TuringSettings
    | LstmSettings
    | CaptionerSettings
)
"""Every kind of model that learns one of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """The sections of a recipe file."""

    run: Changeable[Path]
    """Directory of the run: prepared corpus, checkpoints, metrics and the finished model."""
    data: DataSettings
    """Which files to learn from."""
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    """How text becomes tokens."""
    model: ModelSettings = field(default_factory=TransformerSettings)
    """What is trained."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    """How it is trained."""
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How the finished model translates unless told otherwise."""

    def __post_init__(self) -> None:
        if self.model.embeddings == "shared" and not self.tokenizer.shared:
            raise ValueError(
                'model.embeddings = "shared" needs one vocabulary for both languages, but tokenizer.shared is false. '
                'Set tokenizer.shared = true, or model.embeddings = "tied"'
            )
        if not isinstance(self.model, RecurrentSettings):
            return
        if self.model.attention.positions == "hard" and self.training.consistency:
            raise ValueError(
                'training.consistency must be 0 with model.attention.positions = "hard": two readings that look at '
                "different words by chance are not to agree"
            )
        if self.model.attention.score == "location":
            attention, longest = self.model.attention, self.data.max_tokens + 1
            if attention.num_positions < longest and not attention.truncates:
                raise ValueError(
                    f"model.attention.num_positions must be at least {longest}, the longest source with its end "
                    f"(data.max_tokens + 1), not {attention.num_positions}: a location score has no other positions. "
                    "Raise it, lower data.max_tokens, or set model.attention.truncates = true"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRecipe:
    """The sections of the recipe of a task."""

    run: Changeable[Path]
    """Directory of the run: checkpoints, metrics and the finished model."""
    task: TaskSettings
    """What is to be done, and the data that shows it."""
    model: TaskModelSettings
    """What is trained."""
    training: TrainingSettings = field(default_factory=TrainingSettings)
    """How it is trained. Batches are measured in examples, by `task.batch`."""
    search: Changeable[SearchSettings] = field(default_factory=SearchSettings)
    """How a model that decodes searches unless told otherwise."""

    def __post_init__(self) -> None:
        if self.model.kind not in self.task.MODELS:
            raise ValueError(
                f'task.kind = "{self.task.kind}" is learned by a model of kind '
                f'{" or ".join(self.task.MODELS)}, not "{self.model.kind}"'
            )


def load(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe for text pairs; `overrides` are settings such as `training.updates=500`."""
    return settings.load(Recipe, path, overrides)


def load_any(path: Path, overrides: Sequence[str] = ()) -> Recipe | TaskRecipe:
    """Read a recipe, whatever is to be learned."""
    if "task" in settings.read(path):
        return settings.load(TaskRecipe, path, overrides)
    return load(path, overrides)
