"""A model directory, the one artefact that moves: settings, parameters, what else the task needs, and a card. No torch.

settings.toml       what the model is and what it has learned
model.safetensors   its parameters; or adapter.safetensors, what LoRA changed of those of another model
tokenizer.spm       of a model of text, or source.spm and target.spm; with the pieces by id in .pieces.json if imported
shortlist.safetensors   of some models: which target tokens may translate which source tokens
card.md             data, scores and intended use, for people
manifest.json       size and sha256 of each of these files
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save_file

from saccade import __version__, settings
from saccade.errors import ModelError
from saccade.fields import NotNegative
from saccade.files import (
    MANIFEST,
    FileRecord,
    draft_directory,
    find_changes,
    read_manifest,
    sha256_of,
    write_atomically,
    write_manifest,
)
from saccade.models.settings import TransformerSettings
from saccade.parameters import count_parameters, merge_factors, read_parameters
from saccade.search.settings import SearchSettings
from saccade.search.shortlist import Shortlist
from saccade.tasks.build import AnyModelSettings, AnyTaskSettings
from saccade.tasks.translation.settings import TranslationSettings
from saccade.text.formats.opening import check_new
from saccade.text.languages import Direction, language_of
from saccade.text.tokenizer import Tokenizers
from saccade.trace.alignment import HeadSelection

FORMAT = 2
SETTINGS, PARAMETERS, CARD, SHORTLIST = "settings.toml", "model.safetensors", "card.md", "shortlist.safetensors"
ADAPTER = "adapter.safetensors"
Parameters = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """The model whose parameters an adapter changes."""

    path: Path
    """Its model directory."""
    sha256: str
    """Its checksum; with any other model, the adapter would make no sense."""
    scale: float
    """Factor of the change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What settings.toml says of a model."""

    format: int = FORMAT
    """Version of this layout."""
    saccade: str = __version__
    """Version of saccade that wrote it."""
    directions: tuple[Direction, ...] = ()
    """What it translates; empty for a model of another task."""
    max_tokens: NotNegative = 0
    """The longest source it was trained on, in tokens; 0 for a model of another task."""
    task: AnyTaskSettings = field(default_factory=TranslationSettings)
    """What it has learned."""
    model: AnyModelSettings = field(default_factory=TransformerSettings)
    """What was trained."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """How it searches unless told otherwise."""
    alignment: HeadSelection | None = None
    """The heads that align words, where they are known; the mean of all is taken otherwise."""
    base: Base | None = None
    """Where only what LoRA changed is stored: the model that it is merged with at load."""

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
        files = _manifest(path).items()
        tokenizers = {name: record for name, record in files if name.endswith((".spm", ".pieces.json", SHORTLIST))}
        if changes := "; ".join(find_changes(path, tokenizers)):
            raise ModelError(
                f"{path} must hold the files that the model was saved with, but {changes}: ids would no longer match. "
                "Copy the whole model directory again."
            )
        return cls(path, description, Tokenizers.load(path) if tokenizers else None)

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

    def find_directions(self, to: str | None = None, source: str | None = None) -> tuple[Direction, ...]:
        """All directions into a language, perhaps from another; refused if there is none.

        A code without region stands for any: `zh` for `zh-CN`.
        """
        known = self.description.directions
        found = known
        for wanted, side in ((to, "target"), (source, "source")):
            exact = tuple(direction for direction in found if wanted in (None, getattr(direction, side)))
            near = tuple(each for each in found if wanted and language_of(getattr(each, side)) == language_of(wanted))
            found = exact or near
        if not found:
            asked = " ".join([*(["from", source] if source else []), *(["to", to] if to else [])])
            listed = ", ".join(map(str, known))
            raise ModelError(f"{self.name} does not translate {asked}. It translates {listed}.")
        if to is None and len({direction.tag for direction in found}) > 1:
            targets = " or ".join(dict.fromkeys(f'"{direction.target}"' for direction in found))
            raise ModelError(
                f"{self.name} translates {', '.join(map(str, known))}: name the language to translate to "
                f"({targets}), as to=… or with --to."
            )
        return found

    def find_direction(self, to: str, source: str) -> Direction:
        """The one direction of two languages."""
        return self.find_directions(to, source)[0]

    def toward(self, *directions: Direction) -> "ModelDirectory":
        """The same model for these of its directions only, which have one target, with its tag before every source."""
        tokenizers = self.tokenizers.toward(directions[0].tag)
        if directions == self.description.directions and tokenizers.source.tag == self.tokenizers.source.tag:
            return self
        return replace(self, description=replace(self.description, directions=directions), own_tokenizers=tokenizers)

    def card(self) -> str:
        """What people should know of the model; empty if it says nothing."""
        path = self.path / CARD
        return path.read_text("utf-8", "replace") if path.is_file() else ""

    def quoted_card(self) -> str:
        """The card, marked as a quotation for that of another model."""
        return "".join(f"> {line}\n" for line in (self.card() or "It has no card.").splitlines())

    @property
    def stored(self) -> Path:
        """The file of all parameters, or of an adapter."""
        return self.path / (PARAMETERS if self.description.base is None else ADAPTER)

    def parameters(self) -> dict[str, NDArray[Any]]:
        """All parameters by name."""
        return self.merged(read_parameters(self.stored))

    @property
    def has_shortlist(self) -> bool:
        """Whether the model says which target tokens may translate which source tokens."""
        return SHORTLIST in _manifest(self.path)

    def shortlist(self) -> Shortlist | None:
        """The list of those, if there is one."""
        if not self.has_shortlist:
            return None
        return Shortlist.load(self.path / SHORTLIST, len(self.tokenizers.source), len(self.tokenizers.target))

    def copy(self, output: Path, dtype: str) -> None:
        """Write the same model, whole, to another directory, which must not exist, with numbers of another type."""
        check_new(output, "written", "directory")
        parameters = {name: values.astype(dtype) for name, values in self.parameters().items()}
        description = replace(self.description, base=None)
        save(output, description, self.own_tokenizers, parameters, self.card(), self.shortlist())

    def merged(self, stored: Parameters) -> dict[str, NDArray[Any]]:
        """All parameters, from those of the stored file."""
        base = self._open_base()
        if base is None or self.description.base is None:
            return dict(stored)
        return merge_factors(base.parameters(), stored, self.description.base.scale, origin=str(self.stored))

    def checksum(self, stored: str | None = None) -> str:
        """Tells this model from any other: sha256 of parameters, make and tokenizers; that of `stored` if known."""
        parts = [stored or sha256_of(self.stored), repr(self.description.model), *self.tokenizers.checksums]
        if shortlist := _manifest(self.path).get(SHORTLIST):
            parts.append(shortlist.sha256)
        if base := self.description.base:
            parts += [base.sha256, repr(base.scale)]
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    @property
    def num_parameters(self) -> int:
        """How many numbers the model learned."""
        base = self._open_base()
        return count_parameters(self.stored) if base is None else base.num_parameters

    def _open_base(self) -> "ModelDirectory | None":
        """The model that an adapter changes; None where all parameters are stored."""
        pinned = self.description.base
        if pinned is None:
            return None
        try:
            base = ModelDirectory.open(pinned.path)
        except ModelError as error:
            raise ModelError(
                f"{self.path} stores what was changed of the model in {pinned.path}, which must be there, but: {error} "
                f"Put it back, or change base.path in {self.path / SETTINGS}."
            ) from error
        if base.checksum() != pinned.sha256:
            raise ModelError(
                f"{self.path} stores what was changed of the model in {pinned.path}, but that is another model now: "
                f"its checksum differs. Put the old one back, or change base.path in {self.path / SETTINGS}."
            )
        return base


def save(
    path: Path,
    description: Description,
    tokenizers: Tokenizers | None,
    parameters: Parameters,
    card: str,
    shortlist: Shortlist | None = None,
) -> None:
    """Write a model directory under a temporary name and put it in place whole, replacing one that was there."""
    with draft_directory(path) as draft:
        (draft / SETTINGS).write_text(settings.dump(description), encoding="utf-8")
        save_file(dict(parameters), draft / (PARAMETERS if description.base is None else ADAPTER))
        if tokenizers is not None:
            tokenizers.save(draft)
        if shortlist is not None:
            shortlist.save(draft / SHORTLIST)
        (draft / CARD).write_text(card, encoding="utf-8")
        write_manifest(draft)


def write_card(path: Path, card: str) -> None:
    """Replace the card of a model."""
    write_atomically(path / CARD, card)
    write_manifest(path)


def _manifest(path: Path) -> dict[str, FileRecord]:
    try:
        manifest = read_manifest(path)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{path / MANIFEST} must list the files of the model, but cannot be read ({error}). "
            "Copy the whole model directory again."
        ) from error
    if manifest is None:
        raise ModelError(f"{path} has no {MANIFEST}, which lists its files. Copy the whole model directory again.")
    return manifest


def _check_layout(path: Path) -> None:
    if not path.is_dir():
        raise ModelError(
            f"{path} must be a model directory, but there is {'a file' if path.exists() else 'nothing'} of that name. "
            "`saccade train` writes one below its run directory, as `model`."
        )
    if (path / "run" / "model" / SETTINGS).is_file():
        raise ModelError(f"{path} is not a model directory, but it holds a run. Did you mean {path / 'run'}?")
    stored = ADAPTER if (path / ADAPTER).is_file() else PARAMETERS
    missing = [name for name in (SETTINGS, stored) if not (path / name).is_file()]
    if missing and (path / "recipe.toml").is_file() and (path / "checkpoints").is_dir():
        first = settings.read(path / "recipe.toml").get("training", {}).get("validate_every", 1000)
        raise ModelError(
            f"The run in {path} has no model yet: the first is saved at update {first:,}. "
            "Let it train longer, or lower training.validate_every."
        )
    if missing:
        raise ModelError(
            f"{path} is not a model directory: it has no {' and no '.join(missing)}. "
            "`saccade train` writes a model directory below its run directory, as `model`."
        )


def _check_format(path: Path, table: Mapping[str, Any]) -> None:
    version, writer = table.get("format"), table.get("saccade", "of an unknown version")
    if version != FORMAT:
        remedy = "Train or import it again." if isinstance(version, int) and version < FORMAT else "Use that version."
        raise ModelError(
            f"{path / SETTINGS} has format {version!r}, written by saccade {writer}, but this saccade ({__version__}) "
            f"reads format {FORMAT}. {remedy}"
        )
