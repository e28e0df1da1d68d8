"""Sentences for the benchmark, laid out for all contestants: Multi30k where it is, else generated ones like it."""

import json
import os
from pathlib import Path

import numpy as np

from saccade import settings
from saccade.benchmark import work as works
from saccade.benchmark.work import Work
from saccade.data.prepare import Prepared, prepare
from saccade.data.sampler import Sampler
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.recipe import Recipe
from saccade.text.tokenizer import TokenizerSettings
from saccade.training.settings import TrainingSettings

NUM_GENERATED = 20_000
NEVER = 10**9


def lay_out(directory: Path, size: str) -> Work:
    """Write the work of one model size into a directory: corpus, recipe, and the same in files for others."""
    data, corpus = _data(directory)
    tokenizer = TokenizerSettings(vocabulary=works.VOCABULARY)
    prepared = prepare(data, tokenizer, directory / "corpus", seed=1)
    work = Work(
        directory=directory,
        corpus=corpus,
        size=size,
        model=works.SIZES[size],
        vocabulary=len(prepared.tokenizers.source),
        batch_tokens=works.BATCH_TOKENS,
        threads=works.THREADS,
    )
    work.save()
    _write_for_others(prepared, work)
    training = TrainingSettings(
        batch_tokens=like_batches(prepared, work),
        threads=work.threads,
        device="cpu",
        updates=NEVER,
        validate_every=NEVER,
        checkpoint_every=NEVER,
    )
    recipe = Recipe(run=directory / "run", data=data, tokenizer=tokenizer, model=work.model, training=training)
    (directory / "recipe.toml").write_text(settings.dump(recipe), encoding="utf-8")
    return work


def like_batches(prepared: Prepared, work: Work) -> int:
    """The budget with which our sampler cuts as many batches as `work.batches` does.

    It counts the longer side where a plain loop counts the target; an update is to learn from as many target tokens.
    """
    wanted = len(works.batches(work.examples, work.batch_tokens, seed=0))
    ours = len(Sampler(prepared.train.lengths, max_tokens=work.batch_tokens, seed=1).epoch(0))
    return round(work.batch_tokens * ours / wanted)


def _data(directory: Path) -> tuple[DataSettings, str]:
    if place := os.environ.get("SACCADE_DATA"):
        train, valid = (
            CorpusSettings(source=Path(place, "multi30k", f"{part}.en"), target=Path(place, "multi30k", f"{part}.de"))
            for part in ("train", "val")
        )
        return DataSettings(source_language="en", target_language="de", train=(train,), valid=valid), "Multi30k en→de"
    path = directory / "generated.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in generated()), encoding="utf-8")
    train = CorpusSettings(file=path)
    return DataSettings(source_language="a", target_language="b", train=(train,), hold_out=10), "generated sentences"


def generated() -> list[tuple[str, str]]:
    """Made-up words in Zipf's proportions, in sentences about as long as Multi30k's."""
    random = np.random.default_rng(1)
    syllables = np.array([consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"])
    words = np.array(["".join(random.choice(syllables, size=count)) for count in random.integers(1, 5, size=12_000)])
    shares = 1 / np.arange(3, len(words) + 3)
    sources = random.gamma(9.0, 1.5, size=NUM_GENERATED)
    targets = sources * random.normal(1.03, 0.12, size=NUM_GENERATED)
    ends = np.stack([sources, targets], axis=1).round().clip(3).astype(int).cumsum()
    text = random.choice(words, size=ends[-1], p=shares / shares.sum())
    sentences = [" ".join(part) for part in np.split(text, ends[:-1])]
    return list(zip(sentences[::2], sentences[1::2], strict=True))


def _write_for_others(prepared: Prepared, work: Work) -> None:
    tokenizer = prepared.tokenizers.source
    pieces = [tokenizer.piece(id) for id in range(len(tokenizer))]
    examples = [[side.tolist() for side in prepared.train[row]] for row in range(len(prepared.train))]
    (work.directory / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    work.pieces.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    for number, side in enumerate(("source", "target")):
        lines = (" ".join(pieces[id] for id in example[number]) + "\n" for example in examples)
        (work.directory / f"train.{side}").write_text("".join(lines), encoding="utf-8")
