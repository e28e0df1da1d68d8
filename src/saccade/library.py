"""Models as files: fetched, opened, described, exported and imported. What the commands do, in a call each."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from saccade import settings
from saccade.directory import ModelDirectory
from saccade.errors import ModelError, need_torch
from saccade.files import sha256_of
from saccade.interop import ctranslate2, firefox, hub, marian
from saccade.interop.hub_cache import DownloadReporter, HubName
from saccade.locate import locate_model

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


def get_model(
    name: str,
    output: str | Path | None = None,
    *,
    revision: str | None = None,
    reporter: DownloadReporter | None = None,
) -> Path:
    """Fetch a model from a hub, such as "Helsinki-NLP/opus-mt-en-de", and return its model directory.

    The hub is asked which commit `revision` (main, unless given here or after an @) is now; what is here of it is not
    fetched again. The directory is `output`, which must not exist, or one in the cache, where
    `saccade.load("hf:Helsinki-NLP/opus-mt-en-de")` finds it without a network.
    """
    return hub.get(HubName.parse(name, revision), None if output is None else Path(output), reporter)


def open_model(path: str | Path, *, device: str = "cpu") -> "Translator | TaskModel":
    """A model of any task: a `Translator`, or else a `TaskModel`, which can be evaluated and shown."""
    directory = ModelDirectory.open(locate_model(path))
    if directory.description.task.kind == "translation":
        from saccade.engines.automatic import load_engine
        from saccade.translator import Translator

        return Translator(directory, load_engine(directory, device=device))
    need_torch(f'A model of the task "{directory.description.task.kind}"')
    from saccade.tasks.model import TaskModel

    return TaskModel.open(directory)


def describe_model(path: str | Path) -> dict[str, Any]:
    """What a model is: kind, sizes, vocabulary, languages, checksum, and its card."""
    directory = ModelDirectory.open(locate_model(path))
    facts: dict[str, Any] = {"path": str(directory.path), "num_parameters": directory.num_parameters}
    if directory.own_tokenizers is not None:
        facts["source_vocabulary"] = len(directory.tokenizers.source)
        facts["target_vocabulary"] = len(directory.tokenizers.target)
        facts["shares_vocabulary"] = directory.tokenizers.shares_vocabulary
    facts["sha256"] = sha256_of(directory.stored)
    facts |= settings.table(directory.description)
    return {**facts, "card": directory.card()}


def export_model(path: str | Path, output: str | Path, *, to: ExportFormat, quantize: Quantization = "float32") -> Path:
    """Write a model in the format of another program, with its tokenizers beside; `output` must not exist.

    `quantize` is the type of its numbers: int8 for CTranslate2, float16 for a smaller model directory of saccade's own.
    """
    if quantize not in QUANTIZATIONS[to]:
        raise ModelError(f'quantize must be {" or ".join(QUANTIZATIONS[to])} for {to}, not "{quantize}".')
    directory = ModelDirectory.open_translator(locate_model(path))
    if to == "saccade":
        directory.copy(Path(output), quantize)
    elif to == "marian":
        marian.export(directory, Path(output))
    else:
        ctranslate2.export(directory, Path(output), quantize="int8" if quantize == "int8" else "float32")
    return Path(output)


def import_model(path: str | Path, output: str | Path, *, origin: Literal["marian", "firefox"] = "marian") -> Path:
    """Make a model directory of a model that another program has trained; `output` must not exist."""
    importer = {"marian": marian, "firefox": firefox}[origin]
    importer.import_model(Path(path), Path(output))
    return Path(output)
