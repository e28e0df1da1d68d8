"""A model directory, the one artefact that moves: settings, parameters, tokenizers and a card. No torch, no pickle.

settings.toml       what the model is, and the languages it was trained for
model.safetensors   its parameters
tokenizer.spm       or source.spm and target.spm; with the pieces by id in .pieces.json if imported
card.md             data, scores and intended use, for people
"""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save_file

from saccade import __version__, settings
from saccade.errors import ModelError
from saccade.models.settings import ModelSettings, TransformerSettings
from saccade.recipe import TaskModelSettings, TaskSettings
from saccade.search.settings import SearchSettings
from saccade.text.tokenizer import Tokenizers

FORMAT = 1
SETTINGS, PARAMETERS, CARD = "settings.toml", "model.safetensors", "card.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What settings.toml says of a model."""

    format: int = FORMAT
    """Version of this layout."""
    saccade: str = __version__
    """Version of saccade that wrote it."""
    source_language: str
    """Language it translates from."""
    target_language: str
    """Language it translates to."""
    max_tokens: int
    """The longest source it was trained on, in tokens."""
    model: ModelSettings = field(default_factory=TransformerSettings)
    """What was trained."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How it translates unless told otherwise."""
    tokenizers: tuple[str, str] | None = None
    """sha256 of the source's and the target's tokenizer, put in when the model is saved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskDescription:
    """What settings.toml says of a model that has learned a task other than translation."""

    format: int = FORMAT
    """Version of this layout."""
    saccade: str = __version__
    """Version of saccade that wrote it."""
    task: TaskSettings
    """What it has learned."""
    model: TaskModelSettings
    """What was trained."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How it searches unless told otherwise."""


@dataclass(frozen=True, slots=True)
class TaskDirectory:
    """An opened model directory of a task."""

    path: Path
    description: TaskDescription

    @classmethod
    def open(cls, path: Path) -> "TaskDirectory":
        """A model directory, or a run directory, whose finished or best model is taken."""
        return cls.parse(*_opened(path))

    @classmethod
    def parse(cls, path: Path, table: Mapping[str, Any]) -> "TaskDirectory":
        """The directory whose settings.toml has been read."""
        return cls(path, settings.parse(TaskDescription, table, origin=str(path / SETTINGS), base=path))

    def parameters(self) -> dict[str, NDArray[Any]]:
        """All parameters by name."""
        return read_parameters(self.path / PARAMETERS)

    @property
    def num_parameters(self) -> int:
        """How many numbers the model learned."""
        return _num_parameters(self.path / PARAMETERS)


def holds_task(path: Path) -> bool:
    """Whether a model directory, or a run directory, holds a model of a task other than translation."""
    return "task" in _opened(path)[1]


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """An opened model directory. The parameters stay on disk until asked for."""

    path: Path
    description: Description
    tokenizers: Tokenizers

    @classmethod
    def open(cls, path: Path) -> "ModelDirectory":
        """A model directory, or a run directory, whose finished or best model is taken."""
        return cls.parse(*_opened(path))

    @classmethod
    def parse(cls, path: Path, table: Mapping[str, Any]) -> "ModelDirectory":
        """The directory whose settings.toml has been read."""
        if "task" in table:
            raise ModelError(
                f"{path} holds a model that has learned another task than translation. "
                "`saccade evaluate --model` and `saccade view --model` work with it."
            )
        description = settings.parse(Description, table, origin=str(path / SETTINGS), base=path)
        tokenizers = Tokenizers.load(path)
        if description.tokenizers not in (None, tokenizers.checksums):
            raise ModelError(
                f"{path} must hold the tokenizers that the model was trained with, but they were exchanged: every id "
                "would mean another piece. Copy the whole model directory again."
            )
        return cls(path, description, tokenizers)

    @property
    def name(self) -> str:
        """What people call the model: the name of its directory, or of the one that its run lies in."""
        parts = self.path.resolve().parts
        return next((part for part in reversed(parts) if part not in ("model", "run")), parts[-1])

    def parameters(self) -> dict[str, NDArray[Any]]:
        """All parameters by name."""
        return read_parameters(self.path / PARAMETERS)

    def checksum(self) -> str:
        """Tells this model from any other: sha256 of parameters, make and tokenizers."""
        with (self.path / PARAMETERS).open("rb") as file:
            parts = (hashlib.file_digest(file, "sha256").hexdigest(), repr(self.description.model))
        return hashlib.sha256(" ".join((*parts, *self.tokenizers.checksums)).encode()).hexdigest()

    @property
    def num_parameters(self) -> int:
        """How many numbers the model learned."""
        return _num_parameters(self.path / PARAMETERS)


def open_directory(path: Path) -> ModelDirectory | TaskDirectory:
    """A model directory of either kind; its settings.toml is read once."""
    path, table = _opened(path)
    return TaskDirectory.parse(path, table) if "task" in table else ModelDirectory.parse(path, table)


def _opened(path: Path) -> tuple[Path, dict[str, Any]]:
    """Where the files of a model lie, and what its settings.toml says."""
    path = Path(path)
    if not (path / SETTINGS).is_file() and (path / "model" / SETTINGS).is_file():
        path = path / "model"
    _check_layout(path)
    table = settings.read(path / SETTINGS)
    _check_format(path, table)
    return path, table


def save(
    path: Path,
    description: Description,
    tokenizers: Tokenizers,
    parameters: Mapping[str, NDArray[Any]],
    card: str,
) -> None:
    """Write a model directory under a temporary name and put it in place whole; one that was there is replaced."""
    with drafted(path) as draft:
        marked = replace(description, tokenizers=tokenizers.checksums)
        (draft / SETTINGS).write_text(settings.dump(marked), encoding="utf-8")
        save_file(dict(parameters), draft / PARAMETERS)
        tokenizers.save(draft)
        (draft / CARD).write_text(card, encoding="utf-8")


def save_task(
    path: Path,
    description: TaskDescription,
    parameters: Mapping[str, NDArray[Any]],
    card: str,
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write the model directory of a task, with what else it needs by name, such as a tokenizer."""
    with drafted(path) as draft:
        (draft / SETTINGS).write_text(settings.dump(description), encoding="utf-8")
        save_file(dict(parameters), draft / PARAMETERS)
        for name, content in files.items():
            (draft / name).write_bytes(content)
        (draft / CARD).write_text(card, encoding="utf-8")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A temporary neighbour of `path` for files. At a normal end it takes that place, otherwise it vanishes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _aside(path)
    draft.mkdir()
    try:
        yield draft
        for file in draft.iterdir():
            sync(file)
        sync(draft)
        _replace(draft, path)
    except BaseException:
        recover(path)
        raise


def _replace(draft: Path, path: Path) -> None:
    """Put a finished directory in place; the one that stood there goes only after the new one stands."""
    old = _aside(path, "old")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
    draft.rename(path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover(path: Path) -> None:
    """Put things in order after a writer was killed: the old directory back if the new one never came, drafts away."""
    old = _aside(path, "old")
    if old.is_dir() and not path.exists():
        old.rename(path)
    for draft in path.parent.glob(f".{path.name}.*"):
        shutil.rmtree(draft, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a directory. It first steps aside, as one half removed would be taken for a damaged one."""
    shutil.rmtree(path.rename(_aside(path)), ignore_errors=True)


def _aside(path: Path, word: str = "") -> Path:
    """A hidden neighbour that `recover` knows of."""
    return path.with_name(f".{path.name}.{word or uuid.uuid4().hex[:8]}")


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name and put it in place whole."""
    draft = path.with_name(f".{path.name}")
    try:
        draft.write_text(text, encoding="utf-8")
        sync(draft)
        draft.replace(path)
        sync(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_parameters(path: Path) -> dict[str, NDArray[Any]]:
    """All tensors of a safetensors file by name."""
    with open_parameters(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _num_parameters(path: Path) -> int:
    """From the file's header alone."""
    with open_parameters(path) as file:
        return sum(int(np.prod(file.get_slice(name).get_shape())) for name in file.keys())  # noqa: SIM118


def open_parameters(path: Path) -> Any:
    """Open a safetensors file; one that is cut short or is none is refused by name."""
    try:
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error) from error


def parse_parameters(content: bytes, *, path: Path) -> dict[str, NDArray[Any]]:
    """All tensors in the content of a safetensors file by name."""
    try:
        return load(content)
    except SafetensorError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> ModelError:
    return ModelError(
        f"{path} must be a whole safetensors file, but cannot be read ({error}). "
        "It was probably cut short while being copied: copy it again, or train the model again."
    )


def check_parameters(
    expected: Mapping[str, tuple[int, ...]], given: Mapping[str, tuple[int, ...]], *, origin: str
) -> None:
    """Refuse parameters, by name and shape, that are not those of a model: missing, left over or misshapen."""
    problems = [
        *(f"{name} is missing" for name in expected.keys() - given.keys()),
        *(f"{name} is not a parameter of this model" for name in given.keys() - expected.keys()),
        *(
            f"{name} must have shape {expected[name]}, not {given[name]}"
            for name in expected.keys() & given.keys()
            if expected[name] != given[name]
        ),
    ]
    if problems:
        raise ModelError(
            f"The parameters of {origin} must fit its settings and vocabulary, but {'; '.join(sorted(problems)[:5])}"
            f"{f'; and {len(problems) - 5} more' if len(problems) > 5 else ''}. Its files do not belong together: "
            "copy the whole model directory again."
        )


def _check_layout(path: Path) -> None:
    if not path.is_dir():
        raise ModelError(
            f"{path} must be a model directory, but there is {'a file' if path.exists() else 'nothing'} of that name. "
            "`saccade train` writes one below its run directory, as `model`."
        )
    missing = [name for name in (SETTINGS, PARAMETERS) if not (path / name).is_file()]
    if missing and (path / "recipe.toml").is_file() and (path / "checkpoints").is_dir():
        raise ModelError(
            f"The run in {path} has no model yet: `saccade train` writes the first one after the first validation. "
            "Let it train longer, or lower training.validate_every."
        )
    if missing:
        raise ModelError(
            f"{path} is not a model directory: it has no {' and no '.join(missing)}. A model directory holds "
            f"{SETTINGS}, {PARAMETERS} and the tokenizers; `saccade train` writes one below its run directory, "
            "as `model`."
        )


def _check_format(path: Path, table: Mapping[str, Any]) -> None:
    version = table.get("format")
    if version != FORMAT:
        raise ModelError(
            f"{path / SETTINGS} has format {version!r}, but this saccade ({__version__}) reads format {FORMAT}. "
            f"The model was written by saccade {table.get('saccade', 'of an unknown version')}: "
            "use that version or a newer one."
        )
