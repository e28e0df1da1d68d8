"""Sentences to be translated by all contestants, and one model in the forms that each of them reads."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from saccade.benchmark.corpus import generated
from saccade.directory import ModelDirectory
from saccade.errors import DataError
from saccade.interop import ctranslate2, marian
from saccade.models.settings import TransformerSettings
from saccade.text.formats.opening import open_text

PARTS = ("test_2016_flickr", "val", "train")
"""Of Multi30k, one after another, until there are enough."""


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """A directory with everything to be read by whoever decodes."""

    directory: Path
    corpus: str
    """In words: which sentences."""
    model: str
    """The model directory."""
    language: str
    """Of the target."""
    threads: int

    @classmethod
    def open(cls, directory: Path) -> "Sentences":
        """What `lay_out` wrote there."""
        return cls(directory=directory, **json.loads((directory / "sentences.json").read_text(encoding="utf-8")))

    @cached_property
    def sources(self) -> list[str]:
        """What is to be translated."""
        return _lines(self.directory / "source")

    @cached_property
    def references(self) -> list[str] | None:
        """What it should be, where that is known."""
        path = self.directory / "reference"
        return _lines(path) if path.exists() else None

    def converted(self, compute: str) -> Path:
        """For `ctranslate2.Translator`."""
        return self.directory / f"ctranslate2 {compute}"

    @property
    def marian(self) -> Path:
        """For transformers."""
        return self.directory / "marian"

    def pieces(self, side: str) -> str:
        """For SentencePiece: of the source or of the target."""
        return str(self.directory / f"{side}.spm")


def lay_out(
    directory: Path, model: ModelDirectory, count: int, source: Path | None = None, reference: Path | None = None
) -> Sentences:
    """Write sentences and model into a directory: given files, else Multi30k where it is, else generated ones."""
    pairs, corpus = _pairs(source, reference)
    chosen = list(islice(pairs, count))
    (directory / "source").write_text("".join(f"{said}\n" for said, _ in chosen), encoding="utf-8")
    if all(meant is not None for _, meant in chosen):
        (directory / "reference").write_text("".join(f"{meant}\n" for _, meant in chosen), encoding="utf-8")
    work = Sentences(
        directory=directory,
        corpus=f"{len(chosen):,} sentences, {corpus}",
        model=str(model.path.resolve()),
        language=model.description.target_language,
        threads=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )
    table = {name: value for name, value in asdict(work).items() if name != "directory"}
    (directory / "sentences.json").write_text(json.dumps(table), encoding="utf-8")
    for side, tokenizer in (("source", model.tokenizers.source), ("target", model.tokenizers.target)):
        (directory / f"{side}.spm").write_bytes(tokenizer.model)
    ctranslate2.export(model, work.converted("float32"))
    ctranslate2.export(model, work.converted("int8"), quantize="int8")
    marian.export(_as_if_post_norm(model), work.marian)
    return work


def _as_if_post_norm(model: ModelDirectory) -> ModelDirectory:
    """Marian is post-norm. A pre-norm model has the same tensors and two norms more, as Pegasus of transformers has."""
    settings = model.description.model
    assert isinstance(settings, TransformerSettings)
    return replace(model, description=replace(model.description, model=replace(settings, norm="post")))


def _pairs(source: Path | None, reference: Path | None) -> tuple[Iterator[tuple[str, str | None]], str]:
    if source is not None:
        return _given(source, reference), source.name
    if place := os.environ.get("SACCADE_DATA"):
        home = Path(place, "multi30k")
        files = ((home / f"{part}.en", home / f"{part}.de") for part in PARTS)
        return (pair for files_ in files for pair in _given(*files_)), "Multi30k en→de"
    return ((text, None) for text, _ in generated()), "generated"


def _given(source: Path, reference: Path | None) -> Iterator[tuple[str, str | None]]:
    sources = list(open_text(source))
    references: list[str] | list[None] = [None] * len(sources) if reference is None else list(open_text(reference))
    if len(sources) != len(references):
        raise DataError(
            f"{source} has {len(sources)} lines but {reference} has {len(references)}. Line n of one must translate "
            "line n of the other."
        )
    yield from ((said, meant) for said, meant in zip(sources, references, strict=True) if said.strip())


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
