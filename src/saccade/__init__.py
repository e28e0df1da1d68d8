"""saccade trains, runs and shows sequence-to-sequence attention models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from saccade.errors import (
    CheckpointError,
    DataError,
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
    from saccade.evaluation.risk import MinimumRisk
    from saccade.evaluator import Evaluation, EvaluationReporter, evaluate
    from saccade.library import describe_model, export_model, import_model, open_model
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

__version__ = "0.1.0"

__all__ = [
    "Alignment",
    "AttentionTrace",
    "CheckpointError",
    "DataError",
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
    "Wording",
    "__version__",
    "align",
    "describe_model",
    "draw",
    "estimate",
    "evaluate",
    "export_model",
    "import_model",
    "load",
    "open_model",
    "prepare",
    "train",
    "translate_file",
]


_LAZY = {
    "Alignment": "saccade.aligner",
    "AttentionTrace": "saccade.trace.trace",
    "Evaluation": "saccade.evaluator",
    "EvaluationReporter": "saccade.evaluator",
    "HeadSelection": "saccade.trace.alignment",
    "LineOptions": "saccade.line_translation",
    "LineReporter": "saccade.line_translation",
    "LineTranslation": "saccade.line_translation",
    "MinimumRisk": "saccade.evaluation.risk",
    "Recipe": "saccade.recipe",
    "Reporter": "saccade.training.reporter",
    "SentencePairs": "saccade.aligner",
    "TaskModel": "saccade.tasks.model",
    "TrainingEstimate": "saccade.training.estimate",
    "TrainingResult": "saccade.trainer",
    "Translation": "saccade.translation",
    "Translations": "saccade.translation",
    "Translator": "saccade.translator",
    "Wording": "saccade.text.wording",
    "align": "saccade.aligner",
    "describe_model": "saccade.library",
    "draw": "saccade.trace.draw",
    "estimate": "saccade.trainer",
    "evaluate": "saccade.evaluator",
    "export_model": "saccade.library",
    "import_model": "saccade.library",
    "load": "saccade.translator",
    "open_model": "saccade.library",
    "prepare": "saccade.trainer",
    "train": "saccade.trainer",
    "translate_file": "saccade.line_translation",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for (PEP 562), so that `import saccade` takes no time."""
    if name not in _LAZY:
        raise AttributeError(f"module 'saccade' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
