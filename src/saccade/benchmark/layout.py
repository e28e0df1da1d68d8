"""Sentences and one model, written down in the forms that each of the contestants reads."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from saccade.benchmark.corpus import generated
from saccade.benchmark.sentences import Sentences
from saccade.directory import PARAMETERS, ModelDirectory
from saccade.errors import DataError
from saccade.interop import ctranslate2, marian
from saccade.models.settings import TransformerSettings
from saccade.text.formats.opening import open_text

PARTS = ("test_2016_flickr", "val", "train")
"""Of Multi30k, one after another, until there are enough."""


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
        parameters=str(model.path.resolve() / PARAMETERS),
        settings=ctranslate2.transformer(model),
        language=model.description.target_language,
        threads=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )
    work.save()
    for side, tokenizer in (("source", model.tokenizers.source), ("target", model.tokenizers.target)):
        (directory / f"{side}.spm").write_bytes(tokenizer.model)
        (directory / f"{side}.json").write_text(json.dumps(tokenizer.pieces), encoding="utf-8")
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
