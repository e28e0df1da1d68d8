"""Alignments as text, a sentence a line: `0-0 1-2`, from 0; in gold files `i-j` is a sure and `ipj` a possible link."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from saccade.errors import DataError
from saccade.trace.alignment import Link, flipped

_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gold:
    """The links that people drew in one sentence pair."""

    sure: frozenset[Link]
    possible: frozenset[Link]
    """The sure links are among them."""

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError("Every sure link must be possible, too.")

    @classmethod
    def of(cls, sure: Iterable[Link], possible: Iterable[Link] = ()) -> "Gold":
        """Sure links, and those that are merely possible."""
        found = frozenset(sure)
        return cls(found, found | frozenset(possible))

    def flipped(self) -> "Gold":
        """The same for the other direction."""
        return Gold.of(flipped(self.sure), flipped(self.possible))


def write(pairs: Iterable[Link]) -> str:
    """One line, in the order of the source; without links it is empty."""
    return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def read(lines: Iterable[str], *, origin: str = "the alignment") -> list[Gold]:
    """Every line of a file, whose name is `origin` in messages."""
    return [_line(line, f"{origin}, line {number}") for number, line in enumerate(lines, start=1)]


def within(
    gold: Sequence[Gold], sizes: Sequence[tuple[int, int]], *, origin: str = "the alignment"
) -> tuple[list[Gold], list[str]]:
    """The links to words that are there, and a remark on each other one; refused if more than 1 in 100 are outside."""
    if len(gold) != len(sizes):
        raise DataError(
            f"{origin} has {len(gold)} lines, but there are {len(sizes)} sentence pairs. "
            "Line n must hold the links of pair n; a pair without links is a blank line."
        )
    kept, remarks = [], []
    for number, (line, (sources, targets)) in enumerate(zip(gold, sizes, strict=True), start=1):
        outside = {link for link in line.possible if link[0] >= sources or link[1] >= targets}
        kept.append(Gold(line.sure - outside, line.possible - outside))
        remarks += [
            f"{origin}, line {number}: words are counted from 0, source first, but {source}-{target} is outside a pair "
            f"of {sources} source and {targets} target words"
            for source, target in sorted(outside)
        ]
    if 100 * len(remarks) > sum(len(line.possible) for line in gold):
        raise DataError(
            f"{remarks[0]}{f', and so are {len(remarks) - 1} other links' if len(remarks) > 1 else ''}. "
            "If they have the target first, turn them (`--flip`); if they are counted from 1, subtract 1."
        )
    return kept, remarks


def _line(line: str, where: str) -> Gold:
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in line.split():
        if not (found := _LINK.fullmatch(part)):
            raise DataError(
                f"{where}: a link must be two numbers with - (sure) or p (possible) between them, such as 3-4 or 3p4, "
                f"but {part!r} is not. Give a file of lines in Pharaoh's format."
            )
        link = int(found[1]), int(found[3])
        (sure if found[2] == "-" else possible).add(link)
    return Gold.of(sure, possible)
