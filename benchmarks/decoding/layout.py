"""Sentences and one model, written in the forms that the contestants read."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from benchmarks.decoding.work import DecodingWork
from benchmarks.training.corpus import generate_sentences
from saccade.directory import PARAMETERS, ModelDirectory
from saccade.errors import DataError
from saccade.interop import ctranslate2, marian
from saccade.models.settings import TransformerSettings
from saccade.text.formats.opening import open_text

PARTS = ("test_2016_flickr", "val", "train")
"""Parts of Multi30k, read in this order until there are enough sentences."""


def write_decoding_work(
    directory: Path, model: ModelDirectory, count: int, source: Path | None = None, reference: Path | None = None
) -> DecodingWork:
    """Write sentences and model: the given files, else Multi30k if SACCADE_DATA is set, else generated ones."""
    pairs, corpus = choose_pairs(source, reference)
    examples = list(islice(pairs, count))
    (directory / "source").write_text("".join(f"{text}\n" for text, _ in examples), encoding="utf-8")
    if all(translation is not None for _, translation in examples):
        (directory / "reference").write_text(
            "".join(f"{translation}\n" for _, translation in examples), encoding="utf-8"
        )
    work = DecodingWork(
        directory=directory,
        corpus=f"{len(examples):,} sentences, {corpus}",
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
    ctranslate2.export(model, work.ctranslate2("float32"))
    ctranslate2.export(model, work.ctranslate2("int8"), quantize="int8")
    marian.export(_as_if_post_norm(model), work.marian)
    return work


def _as_if_post_norm(model: ModelDirectory) -> ModelDirectory:
    """Marian is post-norm. A pre-norm model has the same tensors and two norms more, as Pegasus of transformers has."""
    settings = model.description.model
    assert isinstance(settings, TransformerSettings)
    return replace(model, description=replace(model.description, model=replace(settings, norm="post")))


def choose_pairs(source: Path | None, reference: Path | None) -> tuple[Iterator[tuple[str, str | None]], str]:
    if source is not None:
        return read_pairs(source, reference), source.name
    if data := os.environ.get("SACCADE_DATA"):
        home = Path(data, "multi30k")
        files = ((home / f"{part}.en", home / f"{part}.de") for part in PARTS)
        return (pair for files_ in files for pair in read_pairs(*files_)), "Multi30k en→de"
    return ((text, None) for text, _ in generate_sentences()), "generated"


def read_pairs(source: Path, reference: Path | None) -> Iterator[tuple[str, str | None]]:
    sources = list(open_text(source))
    references: list[str] | list[None] = [None] * len(sources) if reference is None else list(open_text(reference))
    if len(sources) != len(references):
        raise DataError(
            f"{source} has {len(sources)} lines but {reference} has {len(references)}. Line n of one must translate "
            "line n of the other."
        )
    yield from (pair for pair in zip(sources, references, strict=True) if pair[0].strip())
