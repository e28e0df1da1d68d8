"""How far one sequence is from another: the error rates of words and phonemes."""

from collections.abc import Sequence


def edits(found: Sequence[object], wanted: Sequence[object]) -> int:
    """The fewest insertions, deletions and substitutions that make one of the other (Levenshtein)."""
    above = list(range(len(wanted) + 1))
    for row, here in enumerate(found, start=1):
        line = [row]
        for column, there in enumerate(wanted, start=1):
            line.append(min(above[column] + 1, line[-1] + 1, above[column - 1] + (here != there)))
        above = line
    return above[-1]


def error_rate(found: Sequence[Sequence[object]], wanted: Sequence[Sequence[object]]) -> float:
    """The edits of all sequences together, for each element that was wanted; may be above 1."""
    return sum(edits(*pair) for pair in zip(found, wanted, strict=True)) / sum(map(len, wanted))
