"""Pairs that nothing is learned from: of corpora for validation, or held out of those of training."""

from collections.abc import Mapping, Sequence

import numpy as np

from saccade.data.chunks import Cleaned, Mask
from saccade.data.corpus import CleaningReport, Example, read
from saccade.data.settings import DataSettings
from saccade.errors import DataError
from saccade.text.languages import Direction
from saccade.text.normalize import normalize

Valid = dict[Direction, list[Example]]


def hold_out(data: DataSettings, cleaned: Cleaned, kept: Mask, seed: int) -> list[list[Example]]:
    """Take pairs of each corpus out of `kept`, and with them every other pair of the same source.

    Of a corpus that is read both ways, also every other pair of the same target.
    """
    report, rng = cleaned.report, np.random.default_rng(seed)
    rows = [np.flatnonzero(kept & cleaned.rows_of(number)) for number in range(len(data.train))]
    sizes = _hold_out_sizes(data, [len(own) for own in rows])
    chosen = [own[np.sort(rng.choice(len(own), size, replace=False))] for own, size in zip(rows, sizes, strict=True)]
    held_out = np.sort(np.concatenate(chosen))
    kept[held_out] = False
    cleaned.drop("held_out", held_out, report)
    sources = cleaned.column("sources")
    related = np.isin(sources, sources[held_out])
    for number, corpus in enumerate(data.train):
        if corpus.both_ways:
            targets = cleaned.column("targets")
            related |= np.isin(targets, targets[chosen[number]])
    same = np.flatnonzero(kept & related)
    kept[same] = False
    cleaned.drop("held_out_source", same, report)
    return [[example for example, _ in cleaned.take(own)] for own in chosen]


def _hold_out_sizes(data: DataSettings, kept: Sequence[int]) -> list[int]:
    """Number of pairs to hold out of each corpus, given the number of its pairs that were kept."""
    free = [number for number, corpus in enumerate(data.train) if corpus.hold_out is None]
    sizes = [corpus.hold_out or 0 for corpus in data.train]
    for place, number in enumerate(free):
        share = data.hold_out // len(free) + (place < data.hold_out % len(free))
        sizes[number] = share if len(data.train) == 1 else min(share, kept[number] // 10)
    for number, (size, num_kept) in enumerate(zip(sizes, kept, strict=True)):
        if 2 * size > num_kept:
            where = "data.hold_out" if data.train[number].hold_out is None else f"data.train[{number}].hold_out"
            raise DataError(
                f"{where} must leave at least half of the corpus to learn from, but it is {size} of {num_kept} pairs. "
                "Lower it, give more data, or name a validation corpus as data.valid."
            )
    return sizes


def read_valid(data: DataSettings, report: CleaningReport) -> list[list[Example]]:
    """The pairs of each validation corpus that have text on both sides."""
    valid = []
    for corpus in data.valid:
        examples = [Example(*pair) for pair in read(corpus, key="data.valid")]
        valid.append([example for example in examples if normalize(example.source) and normalize(example.target)])
        report.blank_valid += len(examples) - len(valid[-1])
        if not valid[-1]:
            raise DataError(
                f"The validation corpus {corpus.paths[0]} must have a pair with text on both sides, but none of its "
                f"{len(examples)} has. Check data.valid, or leave it out to hold pairs out of data.train."
            )
    return valid


def by_direction(
    data: DataSettings, tagged: Mapping[Direction, Direction], corpora: Sequence[Sequence[Example]]
) -> Valid:
    """The validation pairs of all corpora, those that are read both ways in both directions."""
    valid: Valid = {direction: [] for direction in tagged.values()}
    for stream in data.valid_streams:
        examples = corpora[stream.corpus]
        flipped = (Example(example.target, example.source) for example in examples)
        valid[tagged[stream.direction]] += flipped if stream.is_reversed else examples
    return valid
