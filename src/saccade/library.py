"""Models as files: opened for any task, described, exported and imported. What the commands do, in a call each."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from saccade import settings
from saccade.directory import CARD, PARAMETERS, ModelDirectory
from saccade.errors import ModelError, need_torch
from saccade.files import sha256_of
from saccade.interop import ctranslate2, marian

ExportFormat = Literal["ctranslate2", "marian", "saccade"]
Quantization = Literal["float32", "float16", "int8"]
QUANTIZATIONS: dict[ExportFormat, tuple[Quantization, ...]] = {
    "ctranslate2": ("float32", "int8"),
    "marian": ("float32",),
    "saccade": ("float32", "float16"),
}

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


def export_model(path: str | Path, output: str | Path, *, to: ExportFormat, quantize: Quantization = "float32") -> Path:
    """Write a model in the format of another program, with its tokenizers beside; `output` must not exist.

    `quantize` is the type of its numbers: int8 for CTranslate2, float16 for a smaller model directory of saccade's own.
    """
    if quantize not in QUANTIZATIONS[to]:
        raise ModelError(f'quantize must be {" or ".join(QUANTIZATIONS[to])} for {to}, not "{quantize}".')
    directory = ModelDirectory.open_translator(Path(path))
    if to == "saccade":
        directory.copy(Path(output), quantize)
    elif to == "marian":
        marian.export(directory, Path(output))
    else:
        ctranslate2.export(directory, Path(output), quantize="int8" if quantize == "int8" else "float32")
    return Path(output)


def import_model(path: str | Path, output: str | Path, *, origin: Literal["marian"] = "marian") -> Path:
    """Make a model directory of a model that another program has trained; `output` must not exist."""
    marian.import_model(Path(path), Path(output))
    return Path(output)
