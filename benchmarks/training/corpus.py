"""The sentences of the benchmark, written for all contestants: Multi30k if SACCADE_DATA is set, else generated ones."""

import json
import os
from pathlib import Path

import numpy as np

from benchmarks.training import work as defaults
from benchmarks.training.work import TrainingWork, cut_batches
from saccade import settings
from saccade.data.prepare import Prepared, prepare
from saccade.data.sampler import Sampler
from saccade.data.settings import CorpusSettings, DataSettings
from saccade.tasks.translation.settings import TranslationRecipe, TranslationTrainingSettings
from saccade.text.tokenizer import TokenizerSettings

NUM_GENERATED = 20_000
NEVER = 10**9


def write_training_work(directory: Path, size: str) -> TrainingWork:
    """Write the work for one model size into a directory: our corpus and recipe, and files for other toolkits."""
    data, corpus = _corpus_settings(directory)
    tokenizer = TokenizerSettings(vocabulary=defaults.VOCABULARY)
    prepared = prepare(data, tokenizer, directory / "corpus", seed=1)
    work = TrainingWork(
        directory=directory,
        corpus=corpus,
        size=size,
        model=defaults.SIZES[size],
        vocabulary=len(prepared.tokenizers.source),
        batch_tokens=defaults.BATCH_TOKENS,
        threads=defaults.THREADS,
    )
    work.save()
    _write_for_peers(prepared, work)
    training = TranslationTrainingSettings(
        batch_tokens=matching_batch_tokens(prepared, work),
        threads=work.threads,
        device="cpu",
        updates=NEVER,
        validate_every=NEVER,
        checkpoint_every=NEVER,
    )
    recipe = TranslationRecipe(
        run=directory / "run", data=data, tokenizer=tokenizer, model=work.model, training=training
    )
    (directory / "recipe.toml").write_text(settings.dump(recipe), encoding="utf-8")
    return work


def matching_batch_tokens(prepared: Prepared, work: TrainingWork) -> int:
    """The budget with which our sampler cuts as many batches as `cut_batches` does.

    Ours counts the longer side, a plain loop counts the target; an update must learn from as many target tokens.
    """
    wanted = len(cut_batches(work.examples, work.batch_tokens, seed=0))
    ours = len(Sampler(prepared.train.lengths, max_tokens=work.batch_tokens, seed=1).epoch(0))
    return round(work.batch_tokens * ours / wanted)


def _corpus_settings(directory: Path) -> tuple[DataSettings, str]:
    if data := os.environ.get("SACCADE_DATA"):
        train, valid = (
            CorpusSettings(source=Path(data, "multi30k", f"{part}.en"), target=Path(data, "multi30k", f"{part}.de"))
            for part in ("train", "val")
        )
        return DataSettings(
            source_language="en", target_language="de", train=(train,), valid=(valid,)
        ), "Multi30k en→de"
    path = directory / "generated.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in generate_sentences()), encoding="utf-8")
    train = CorpusSettings(file=path)
    return DataSettings(source_language="a", target_language="b", train=(train,), hold_out=10), "generated sentences"


def generate_sentences() -> list[tuple[str, str]]:
    """Pairs of sentences of random words, with frequencies by Zipf's law and about the lengths of Multi30k."""
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


def _write_for_peers(prepared: Prepared, work: TrainingWork) -> None:
    tokenizer = prepared.tokenizers.source
    pieces = [tokenizer.piece(id) for id in range(len(tokenizer))]
    examples = [[side.tolist() for side in prepared.train[row]] for row in range(len(prepared.train))]
    (work.directory / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    work.pieces.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    for number, side in enumerate(("source", "target")):
        lines = (" ".join(pieces[id] for id in example[number]) + "\n" for example in examples)
        (work.directory / f"train.{side}").write_text("".join(lines), encoding="utf-8")
