"""saccade trains, runs and shows sequence-to-sequence attention models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from saccade.errors import (
    CheckpointError,
    DataError,
    DownloadError,
    MissingDependency,
    ModelError,
    OutputExists,
    SaccadeError,
    SettingsError,
    TrainingError,
)
from saccade.search.settings import SearchSettings

if TYPE_CHECKING:
    from saccade.aligner import Alignment, SentencePairs, align
    from saccade.cleaner import ScoreFilter, clean
    from saccade.evaluation.reporter import EvaluationReporter
    from saccade.evaluation.risk import MinimumRisk
    from saccade.evaluator import Evaluation, evaluate
    from saccade.interop.hub_cache import DownloadReporter
    from saccade.library import describe_model, export_model, get_model, import_model, open_model
    from saccade.line_translation import LineOptions, LineReporter, LineTranslation, translate_file
    from saccade.recipe import Recipe
    from saccade.tasks.model import TaskModel
    from saccade.text.wording import Wording
    from saccade.trace.alignment import HeadSelection
    from saccade.trace.draw import draw
    from saccade.trace.trace import AttentionTrace
    from saccade.trainer import TrainingResult, estimate, prepare, train
    from saccade.training.estimate import TrainingEstimate
    from saccade.training.reporter import Reporter
    from saccade.translation import Translation, Translations
    from saccade.translator import Translator, load
    from saccade.tuner import TuningResult, tune
    from saccade.tuning.reporter import TuningReporter

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "AttentionTrace",
    "CheckpointError",
    "DataError",
    "DownloadError",
    "DownloadReporter",
    "Evaluation",
    "EvaluationReporter",
    "HeadSelection",
    "LineOptions",
    "LineReporter",
    "LineTranslation",
    "MinimumRisk",
    "MissingDependency",
    "ModelError",
    "OutputExists",
    "Recipe",
    "Reporter",
    "SaccadeError",
    "ScoreFilter",
    "SearchSettings",
    "SentencePairs",
    "SettingsError",
    "TaskModel",
    "TrainingError",
    "TrainingEstimate",
    "TrainingResult",
    "Translation",
    "Translations",
    "Translator",
    "TuningReporter",
    "TuningResult",
    "Wording",
    "__version__",
    "align",
    "clean",
    "describe_model",
    "draw",
    "estimate",
    "evaluate",
    "export_model",
    "get_model",
    "import_model",
    "load",
    "open_model",
    "prepare",
    "train",
    "translate_file",
    "tune",
]


_MODULES = {
    "aligner": "Alignment SentencePairs align",
    "cleaner": "ScoreFilter clean",
    "evaluation.risk": "MinimumRisk",
    "evaluation.reporter": "EvaluationReporter",
    "evaluator": "Evaluation evaluate",
    "interop.hub_cache": "DownloadReporter",
    "library": "describe_model export_model get_model import_model open_model",
    "line_translation": "LineOptions LineReporter LineTranslation translate_file",
    "recipe": "Recipe",
    "tasks.model": "TaskModel",
    "text.wording": "Wording",
    "trace.alignment": "HeadSelection",
    "trace.draw": "draw",
    "trace.trace": "AttentionTrace",
    "trainer": "TrainingResult estimate prepare train",
    "training.estimate": "TrainingEstimate",
    "training.reporter": "Reporter",
    "translation": "Translation Translations",
    "translator": "Translator load",
    "tuner": "TuningResult tune",
    "tuning.reporter": "TuningReporter",
}
_LAZY = {name: f"saccade.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for (PEP 562), so that `import saccade` takes no time."""
    if name not in _LAZY:
        raise AttributeError(f"module 'saccade' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
