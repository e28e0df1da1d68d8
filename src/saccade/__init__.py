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
    WorkerLost,
)
from saccade.search.settings import SearchSettings

if TYPE_CHECKING:
    from saccade.evaluation.risk import MinimumRisk
    from saccade.text.wording import Wording
    from saccade.translation import Translation, Translations
    from saccade.translator import Translator, load

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "DataError",
    "MinimumRisk",
    "MissingDependency",
    "ModelError",
    "OutputExists",
    "SaccadeError",
    "SearchSettings",
    "SettingsError",
    "TrainingError",
    "Translation",
    "Translations",
    "Translator",
    "Wording",
    "WorkerLost",
    "__version__",
    "load",
]


_LAZY = {
    "MinimumRisk": "saccade.evaluation.risk",
    "Translation": "saccade.translation",
    "Translations": "saccade.translation",
    "Translator": "saccade.translator",
    "Wording": "saccade.text.wording",
    "load": "saccade.translator",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for (PEP 562), so that `import saccade` takes no time."""
    if name not in _LAZY:
        raise AttributeError(f"module 'saccade' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
