"""Every error a user can cause, each with a message that says what must hold, what came and what to do.

SaccadeError
├── SettingsError       a settings file or `--set`: every problem at once
├── DataError           corpora and input files: missing, unequal, empty, not UTF-8
├── ModelError          a model directory that is none, is damaged, of a newer version or of another kind
├── DownloadError       a model that cannot be fetched: no such name, no network, no access, a wrong checksum
├── CheckpointError     a run's checkpoint that was cut short or damaged
├── TrainingError       a training that cannot go on: its numbers are not finite, or another one writes to its run
├── OutputExists        an output path that exists already
└── MissingDependency   an optional package, such as PyTorch, that is not installed
"""

import importlib.util
from collections.abc import Sequence


class SaccadeError(Exception):
    """What a user can put right; the message is one paragraph, and the command line exits with 1."""


class SettingsError(SaccadeError):
    """Every problem found in one settings file: one in a sentence, several one line each."""

    def __init__(self, origin: str, problems: Sequence[str]) -> None:
        count = f" {len(problems)} problems" if len(problems) > 1 else ""
        separator = "\n  " if count else " "
        super().__init__(separator.join([f"{origin}:{count}", *problems]))
        self.problems = list(problems)


class DataError(SaccadeError):
    """A corpus or an input file that cannot be used as it is."""


class ModelError(SaccadeError):
    """A model directory that cannot be loaded, or not for this purpose."""


class DownloadError(SaccadeError):
    """A model that cannot be fetched."""


class CheckpointError(SaccadeError):
    """A run's checkpoint that cannot be trusted."""


class TrainingError(SaccadeError):
    """A training that would spoil its model if it went on."""


class OutputExists(SaccadeError):
    """An output path that exists already; nothing is overwritten unasked."""


class MissingDependency(SaccadeError):
    """An optional package that is not installed; the message ends with the command that installs it."""


def need_torch(what: str) -> None:
    """Refuse `what` (such as "`saccade train`") where PyTorch is not installed; does not import it."""
    if importlib.util.find_spec("torch") is None:
        raise MissingDependency(
            f'{what} needs PyTorch, which is not installed. Install it with: pip install "saccade[train]"'
        )
