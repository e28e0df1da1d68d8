"""Preparation as a plain loop over all pairs in memory: the twin of what is done in chunks."""

import numpy as np

from saccade.data.corpus import CleaningReport, Example, read, reason_to_drop
from saccade.data.settings import DataSettings
from saccade.text.normalize import normalize

Placed = list[tuple[Example, str]]


def cleaned(data: DataSettings) -> tuple[Placed, CleaningReport]:
    """Every pair that passes, with its place; and what happened to all of them."""
    report, kept, seen = CleaningReport(), [], set()
    for corpus in data.train:
        for number, pair in enumerate(read(corpus), start=1):
            example = Example(*map(normalize, pair))
            place = f"{corpus.paths[0].name}:{number}"
            report.read += 1
            reason = reason_to_drop(example, data.cleaning)
            if reason is None and data.cleaning.deduplicate and example in seen:
                reason = "duplicate"
            if reason:
                report.drop(reason, example, place)
                continue
            seen.add(example)
            report.copies_kept += example.source == example.target
            kept.append((example, place))
    return kept, report


def held_out(kept: Placed, report: CleaningReport, count: int, seed: int) -> tuple[Placed, list[Example]]:
    """What remains for training, and the pairs for validation: the same number of each file, at most a tenth of it."""
    rng, files = np.random.default_rng(seed), [place.partition(":")[0] for _, place in kept]
    chosen: set[int] = set()
    for file in dict.fromkeys(files):
        rows = [row for row, own in enumerate(files) if own == file]
        size = min(count // len(set(files)), len(rows) // 10)
        chosen |= {rows[number] for number in rng.choice(len(rows), size, replace=False)}
    valid = [example for row, (example, _) in enumerate(kept) if row in chosen]
    sources = {example.source for example in valid}
    remaining = []
    for row, (example, place) in enumerate(kept):
        if row in chosen:
            report.drop("held_out", example, place)
        elif example.source in sources:
            report.drop("held_out_source", example, place)
        else:
            remaining.append((example, place))
    return remaining, valid
