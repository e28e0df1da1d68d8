"""Models as files: opened for any task, described, exported and imported. What the commands do, in a call each."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from saccade import settings
from saccade.directory import CARD, PARAMETERS, ModelDirectory
from saccade.errors import ModelError, need_torch
from saccade.files import sha256_of
from saccade.interop import ctranslate2, firefox, marian
from saccade.interop.ctranslate2 import Quantization

if TYPE_CHECKING:
    from saccade.tasks.model import TaskModel
    from saccade.translator import Translator


def open_model(path: str | Path, *, device: str = "cpu") -> "Translator | TaskModel":
    """A model of any task: a `Translator`, or else a `TaskModel`, which can be evaluated and shown."""
    directory = ModelDirectory.open(Path(path))
    if directory.description.task.kind == "translation":
        from saccade.engines.automatic import load_engine
        from saccade.translator import Translator

        return Translator(directory, load_engine(directory, device=device))
    need_torch(f'A model of the task "{directory.description.task.kind}"')
    from saccade.tasks.model import TaskModel

    return TaskModel.open(directory)


def describe_model(path: str | Path) -> dict[str, Any]:
    """What a model is: kind, sizes, vocabulary, languages, checksum, and its card."""
    directory = ModelDirectory.open(Path(path))
    facts: dict[str, Any] = {"path": str(directory.path), "num_parameters": directory.num_parameters}
    if directory.own_tokenizers is not None:
        facts["source_vocabulary"] = len(directory.tokenizers.source)
        facts["target_vocabulary"] = len(directory.tokenizers.target)
        facts["shares_vocabulary"] = directory.tokenizers.shares_vocabulary
    facts["sha256"] = sha256_of(directory.path / PARAMETERS)
    facts |= settings.table(directory.description)
    card = directory.path / CARD
    return {**facts, "card": card.read_text("utf-8", "replace") if card.is_file() else ""}


def export_model(
    path: str | Path, output: str | Path, *, to: Literal["ctranslate2", "marian"], quantize: Quantization = "float32"
) -> Path:
    """Write a model in the format of another program, with its tokenizers beside; `output` must not exist."""
    directory = ModelDirectory.open_translator(Path(path))
    if to == "ctranslate2":
        ctranslate2.export(directory, Path(output), quantize=quantize)
    elif quantize == "float32":
        marian.export(directory, Path(output))
    else:
        raise ModelError(f'quantize must be "float32" for Marian, which stores nothing else, not "{quantize}".')
    return Path(output)


def import_model(path: str | Path, output: str | Path, *, origin: Literal["marian", "firefox"] = "marian") -> Path:
    """Make a model directory of a model that another program has trained; `output` must not exist."""
    importer = {"marian": marian, "firefox": firefox}[origin]
    importer.import_model(Path(path), Path(output))
    return Path(output)
