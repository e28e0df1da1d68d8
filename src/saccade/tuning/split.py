"""What a tuning learns from and is measured on: a memory cleaned and split, general pairs, replayed pairs. No torch."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from saccade.data.corpus import CleaningReport, Example, read, reason_to_drop
from saccade.data.near_duplicates import hold_out
from saccade.data.settings import CleaningSettings, CorpusSettings
from saccade.errors import DataError
from saccade.text.formats.tsv import read_pairs
from saccade.text.normalize import normalize
from saccade.tuning.plan import FEWEST_PAIRS, held_out_sizes, most_replayed

FEWEST_HELD_OUT = 10
MOST_GENERAL = 2000
"""Sentences of a general set that are translated; of a larger one, every n-th."""
_MOST_DROPPED = 0.1
"""Share of the memory that may be dropped for being near to held-out sentences."""

Corpora = Sequence[CorpusSettings]


@dataclass(frozen=True, slots=True)
class Split:
    """The pairs of a tuning, each in one part only."""

    train: list[Example]
    """What is learned."""
    valid: list[Example]
    """Held out of the memory, to stop by."""
    test: list[Example]
    """Held out of the memory, to report on, and used for nothing else."""
    general: list[Example]
    """Other text, to see what is lost on it."""
    replay: list[Example]
    """Other text that is learned beside the memory."""

    def write(self, directory: Path) -> None:
        """A TSV file for each part that has pairs; their text is normalised, so it has no tabs."""
        for name, pairs in self._parts():
            lines = (f"{pair.source}\t{pair.target}\n" for pair in pairs)
            with (directory / f"{name}.tsv").open("x", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)

    @classmethod
    def read(cls, directory: Path) -> "Split":
        """What `write` wrote."""
        files = {field.name: directory / f"{field.name}.tsv" for field in fields(cls)}
        return cls(**{name: [Example(*pair) for pair in read_pairs(path)] for name, path in files.items()})

    def _parts(self) -> Iterator[tuple[str, list[Example]]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))


def split_memory(memory: Corpora, general: Corpora, replay: Corpora, *, seed: int) -> tuple[Split, list[str]]:
    """Read, clean and split all files; and what was left out, for people. The same files and seed give the same."""
    report, names = CleaningReport(), _named(memory)
    pairs = _clean(memory, report)
    if len(pairs) < FEWEST_PAIRS:
        raise DataError(
            f"Tuning needs at least {FEWEST_PAIRS} different pairs, but {names} has {len(pairs)}: {report.in_words()}. "
            "Give a larger memory."
        )
    notes = [f"{report.in_words()}."] if report.read > len(pairs) else []
    own = {pair.source for pair in pairs}
    others, known = _read_general(general, own, names)
    if known:
        notes.append(f"Skipped {known:,} sentences of the general set: they are in the memory.")
    num_valid, num_test = held_out_sizes(len(pairs))
    found = hold_out(
        [pair.source for pair in pairs],
        num_valid + num_test,
        most_dropped=int(_MOST_DROPPED * len(pairs)),
        seed=seed,
    )
    if len(found.rows) < FEWEST_HELD_OUT:
        raise DataError(
            f"Tuning is measured on {FEWEST_HELD_OUT} sentences of the memory at least that are unlike all others, but "
            f"{names} has {len(found.rows)}: nearly all repeat each other. Give more text, or use `saccade train` with "
            "training.warm_start and a data.valid of your own."
        )
    if found.dropped:
        notes.append(f"Skipped {len(found.dropped):,} pairs that are near-duplicates of held-out ones.")
    held_out = [pairs[row] for row in found.rows]
    random.Random(seed).shuffle(held_out)
    num_valid = max(1, len(held_out) * num_valid // (num_valid + num_test))
    left_out = {*found.rows, *found.dropped}
    train = [pair for row, pair in enumerate(pairs) if row not in left_out]
    replayed = _sample_replay(replay, own | {pair.source for pair in others}, len(train), seed)
    return Split(train, held_out[:num_valid], held_out[num_valid:], others, replayed), notes


def _clean(corpora: Corpora, report: CleaningReport) -> list[Example]:
    """The pairs worth learning, each once; the report is told of all others."""
    kept: dict[Example, None] = {}
    for corpus in corpora:
        for line, pair in enumerate(read(corpus), start=1):
            report.read += 1
            example = Example(*map(normalize, pair))
            reason = "duplicate" if example in kept else reason_to_drop(example, CleaningSettings())
            if reason:
                report.drop(reason, example, f"{corpus.paths[0].name}:{line}")
            else:
                kept[example] = None
    return list(kept)


def _read_general(corpora: Corpora, own: set[str], names: str) -> tuple[list[Example], int]:
    """Pairs of other text than the memory, and how many more there were that the memory has."""
    examples = (Example(*map(normalize, pair)) for corpus in corpora for pair in read(corpus))
    pairs = [example for example in examples if example.source and example.target]
    others = [pair for pair in pairs if pair.source not in own]
    if corpora and not pairs:
        raise DataError(f"The general set {_named(corpora)} must have pairs of text, but it has none. Name another.")
    if corpora and 2 * len(others) < len(pairs):
        raise DataError(
            f"The general set must be other text than the memory, but {len(pairs) - len(others):,} of the "
            f"{len(pairs):,} sentences of {_named(corpora)} are in {names}. Name text of another kind."
        )
    step = -(-len(others) // MOST_GENERAL)
    return others[:: max(1, step)], len(pairs) - len(others)


def _sample_replay(corpora: Corpora, known: Iterable[str], num_learned: int, seed: int) -> list[Example]:
    """Some pairs of text that is neither in the memory nor in the general set, in the order of the files."""
    # Algorithm R (Vitter 1985): one pass, however large the files are.
    rng, most, known = random.Random(seed), most_replayed(num_learned), set(known)
    kept: list[tuple[int, Example]] = []
    number = 0
    for corpus in corpora:
        for pair in read(corpus):
            example = Example(*map(normalize, pair))
            if reason_to_drop(example, CleaningSettings()) or example.source in known:
                continue
            place = number if number < most else rng.randrange(number + 1)
            if place == len(kept):
                kept.append((number, example))
            elif place < most:
                kept[place] = (number, example)
            number += 1
    if corpora and not kept:
        raise DataError(
            f"Replay needs pairs that are neither in the memory nor in the general set, but {_named(corpora)} has "
            "none. Name text like that which the model was trained on."
        )
    return [example for _, example in sorted(kept, key=lambda item: item[0])]


def _named(corpora: Corpora) -> str:
    return " and ".join(str(path) for corpus in corpora for path in corpus.paths)
