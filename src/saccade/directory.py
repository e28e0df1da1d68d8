"""A model directory, the one artefact that moves: settings, parameters, what else the task needs, and a card. No torch.

settings.toml       what the model is and what it has learned
model.safetensors   its parameters
tokenizer.spm       of a model of text, or source.spm and target.spm; with the pieces by id in .pieces.json if imported
card.md             data, scores and intended use, for people
manifest.json       size and sha256 of each of these files
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save_file

from saccade import __version__, settings
from saccade.errors import ModelError
from saccade.models.settings import TransformerSettings
from saccade.parameters import count_parameters, read_parameters
from saccade.search.settings import SearchSettings
from saccade.tasks.build import AnyModelSettings, AnyTaskSettings
from saccade.tasks.translation.settings import TranslationSettings
from saccade.text.tokenizer import Tokenizers

FORMAT = 2
SETTINGS, PARAMETERS, CARD, MANIFEST = "settings.toml", "model.safetensors", "card.md", "manifest.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Direction:
    """A language pair, by the codes of both languages."""

    source: str
    """Language that is translated from."""
    target: str
    """Language that is translated to."""

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What settings.toml says of a model."""

    format: int = FORMAT
    """Version of this layout."""
    saccade: str = __version__
    """Version of saccade that wrote it."""
    directions: tuple[Direction, ...] = ()
    """What it translates; empty for a model of another task."""
    max_tokens: int = 0
    """The longest source it was trained on, in tokens; 0 for a model of another task."""
    task: AnyTaskSettings = field(default_factory=TranslationSettings)
    """What it has learned."""
    model: AnyModelSettings = field(default_factory=TransformerSettings)
    """What was trained."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How it searches unless told otherwise."""

    @property
    def source_language(self) -> str:
        """Language that it translates from."""
        return self.directions[0].source

    @property
    def target_language(self) -> str:
        """Language that it translates to."""
        return self.directions[0].target


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """An opened model directory. The parameters stay on disk until asked for."""

    path: Path
    description: Description
    own_tokenizers: Tokenizers | None = None
    """Those that the model was trained with, if it reads or writes text."""

    @classmethod
    def open(cls, path: Path) -> "ModelDirectory":
        """A model directory, or a run directory, whose finished or best model is taken."""
        path = Path(path)
        if not (path / SETTINGS).is_file() and (path / "model" / SETTINGS).is_file():
            path = path / "model"
        _check_layout(path)
        table = settings.read(path / SETTINGS)
        _check_format(path, table)
        description = settings.parse(Description, table, origin=str(path / SETTINGS), base=path)
        spelled = [name for name in read_manifest(path) if name.endswith((".spm", ".pieces.json"))]
        _check_unchanged(path, spelled)
        return cls(path, description, Tokenizers.load(path) if spelled else None)

    @classmethod
    def open_translator(cls, path: Path) -> "ModelDirectory":
        """The same of a model that translates; any other is refused."""
        directory = cls.open(path)
        if (kind := directory.description.task.kind) != "translation":
            raise ModelError(
                f'{directory.path} must hold a model that translates, but it has learned the task "{kind}". '
                "`saccade evaluate --model` and `saccade view --model` work with it."
            )
        return directory

    @property
    def tokenizers(self) -> Tokenizers:
        """Those of a model that reads or writes text."""
        assert self.own_tokenizers is not None
        return self.own_tokenizers

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
        parts = (sha256_of(self.path / PARAMETERS), repr(self.description.model), *self.tokenizers.checksums)
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    @property
    def num_parameters(self) -> int:
        """How many numbers the model learned."""
        return count_parameters(self.path / PARAMETERS)


def save(
    path: Path,
    description: Description,
    tokenizers: Tokenizers | None,
    parameters: Mapping[str, NDArray[Any]],
    card: str,
) -> None:
    """Write a model directory under a temporary name and put it in place whole, replacing one that was there."""
    with drafted(path) as draft:
        (draft / SETTINGS).write_text(settings.dump(description), encoding="utf-8")
        save_file(dict(parameters), draft / PARAMETERS)
        if tokenizers is not None:
            tokenizers.save(draft)
        (draft / CARD).write_text(card, encoding="utf-8")
        manifest = {
            file.name: {"size": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(draft.iterdir())
        }
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """Size and sha256 of each file of a model directory, as they were when it was saved."""
    try:
        manifest: dict[str, dict[str, Any]] = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        return manifest
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path / MANIFEST} must list the files of the model, but cannot be read ({error}). "
            "Copy the whole model directory again."
        ) from error


def _check_unchanged(path: Path, names: Iterable[str]) -> None:
    """Refuse files that are not those that were saved."""
    manifest = read_manifest(path)
    for name in names:
        if not (path / name).is_file() or sha256_of(path / name) != manifest[name]["sha256"]:
            raise ModelError(
                f"{path / name} must be the file that the model was saved with, but it is missing or was replaced: ids "
                "would no longer match. Copy the whole model directory again."
            )


def sha256_of(path: Path) -> str:
    """Of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
            f"{SETTINGS}, {PARAMETERS} and {MANIFEST}; `saccade train` writes one below its run directory, "
            "as `model`."
        )


def _check_format(path: Path, table: Mapping[str, Any]) -> None:
    version, writer = table.get("format"), table.get("saccade", "of an unknown version")
    if version != FORMAT:
        remedy = "Train or import it again." if isinstance(version, int) and version < FORMAT else "Use that version."
        raise ModelError(
            f"{path / SETTINGS} has format {version!r}, written by saccade {writer}, but this saccade ({__version__}) "
            f"reads format {FORMAT}. {remedy}"
        )
