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
    from saccade.translator import Translation, Translator, load

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "DataError",
    "MissingDependency",
    "ModelError",
    "OutputExists",
    "SaccadeError",
    "SearchSettings",
    "SettingsError",
    "TrainingError",
    "Translation",
    "Translator",
    "WorkerLost",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for (PEP 562), so that `import saccade` takes no time."""
    if name not in ("Translation", "Translator", "load"):
        raise AttributeError(f"module 'saccade' has no attribute {name!r}")
    return getattr(import_module("saccade.translator"), name)


def __dir__() -> list[str]:
    return __all__
