"""Words in, links out: a model is led through two known sentences, and its weights say what belongs together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade.errors import DataError, ModelError
from saccade.evaluation import alignment
from saccade.evaluation.alignment import Aligned, AlignmentScore, Difference, Tried, choose
from saccade.text.formats.lines import read_pairs
from saccade.text.formats.opening import open_text
from saccade.text.joining import has_spaces, join
from saccade.text.normalize import normalize
from saccade.trace import pharaoh
from saccade.trace.alignment import HeadSelection, Link, Method, flipped, shares, symmetrise
from saccade.trace.pharaoh import Gold
from saccade.translator import Translator

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Sentence pairs in words, and perhaps their true links."""

    sources: Sequence[Words]
    targets: Sequence[Words]
    gold: Sequence[Gold] | None = None
    remarks: tuple[str, ...] = ()
    """Links of the gold file that were skipped, and why."""

    @classmethod
    def read(cls, source: Path, target: Path, gold: Path | None = None, *, flip: bool = False) -> "SentencePairs":
        """Two files of lines with blanks between words, and a file of links; `flip`: it has the target word first."""
        pairs = [(left.split(), right.split()) for left, right in read_pairs(source, target)]
        if not pairs:
            raise DataError(f"{source} must hold at least one sentence, but it is empty.")
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        if gold is None:
            return cls(sources, targets)
        known = pharaoh.read(open_text(gold), origin=str(gold))
        if flip:
            known = [line.flipped() for line in known]
        known, remarks = pharaoh.within(known, [(len(one), len(other)) for one, other in pairs], origin=str(gold))
        return cls(sources, targets, known, tuple(remarks))

    @property
    def full(self) -> list[int]:
        """The rows where both sides have words that can be seen."""
        sides = zip(self.sources, self.targets, strict=True)
        return [row for row, pair in enumerate(sides) if all(normalize(" ".join(words)) for words in pair)]


@dataclass(frozen=True, slots=True)
class AlignmentReport:
    """How good links are, beside those of the diagonal."""

    scores: AlignmentScore
    diagonal: AlignmentScore
    gain: Difference
    """How much higher the error rate of the diagonal is."""
    tried: tuple[Tried, ...]
    """Every selection of heads, the best first: for information only, as nothing may be chosen by what is measured."""

    def to_json(self) -> dict[str, Any]:
        """As plain values for `json.dumps`."""
        return {
            "this_model": asdict(self.scores),
            "diagonal": asdict(self.diagonal),
            "gain": asdict(self.gain),
            "selections": [{"selection": str(way.selection), "error_rate": way.error_rate} for way in self.tried],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The links between the words of sentence pairs, and how they were found."""

    pairs: SentencePairs
    links: list[list[Link]]
    """Of each pair; none where a side is blank."""
    selection: HeadSelection
    reverse_selection: HeadSelection | None
    weighed: list[Aligned]
    """The weights of the pairs without a blank side."""

    def report(self) -> AlignmentReport:
        """Scores against the gold of the pairs, which must have one."""
        gold = self.pairs.gold
        if gold is None:
            raise DataError("Links are scored against true ones, but these pairs have none. Give them a gold.")
        sizes = zip(self.pairs.sources, self.pairs.targets, strict=True)
        plain = [alignment.diagonal(len(source), len(target)) for source, target in sizes]
        tried = choose(self.weighed, [gold[row] for row in self.pairs.full])
        gain = alignment.difference(plain, self.links, gold)
        return AlignmentReport(alignment.score(self.links, gold), alignment.score(plain, gold), gain, tuple(tried))


def align(
    translator: Translator,
    pairs: SentencePairs,
    *,
    selection: HeadSelection | None = None,
    choose_on: SentencePairs | None = None,
    reverse: Translator | None = None,
    method: Method = "grow-diag",
    threshold: float | None = None,
) -> Alignment:
    """Link the words of each pair.

    Which heads are read is `selection`; or it is chosen on other pairs with known links; or the model's settings.toml
    says it (`alignment`); or it is chosen by the agreement with a model of the `reverse` direction, whose links are
    merged by `method`. A target word gets the source word of most weight, or all from `threshold` on.
    """
    if selection is not None and (choose_on is not None or reverse is not None):
        raise DataError("Heads are either selected or chosen. Leave out selection, or both choose_on and reverse.")
    if reverse is not None:
        _check_reverse(translator, reverse)
    forward, backward = _weigh(translator, reverse, pairs)
    own = translator.directory.description.alignment
    back = None if reverse is None else reverse.directory.description.alignment
    if choose_on is not None:
        there, back = _choose_on(translator, reverse, choose_on)
    elif backward is not None and not (own and back):
        there, back = (tried[0].selection for tried in alignment.choose_by_agreement(forward, backward))
    else:
        there = selection or own or HeadSelection()
    links = [pair.links(there, threshold) for pair in forward]
    if backward is not None and back is not None:
        others = (flipped(pair.links(back, threshold)) for pair in backward)
        links = [symmetrise(one, other, method) for one, other in zip(links, others, strict=True)]
    of_rows = dict(zip(pairs.full, links, strict=True))
    return Alignment(pairs, [of_rows.get(row, []) for row in range(len(pairs.sources))], there, back, forward)


def weigh_words(translator: Translator, sources: Sequence[Words], targets: Sequence[Words]) -> list[Aligned]:
    """Force the model through each target and keep its weights between these words; an empty side is refused."""
    translator = translator.toward()
    description = translator.directory.description
    if len(description.directions) > 1:
        listed = ", ".join(map(str, description.directions))
        raise ModelError(f"Words are aligned in one direction, but there are {listed}. Name the source language, too.")
    left = [join(words, spaced=has_spaces(description.source_language)) for words in sources]
    right = [join(words, spaced=has_spaces(description.target_language)) for words in targets]
    for number, pair in enumerate(zip(left, right, strict=True), start=1):
        if not all(side.text for side in pair):
            raise DataError(f"Both sides of a pair must have words, but one side of pair {number} has none.")
    traces = translator.trace([side.text for side in left], [side.text for side in right], kinds=["cross"])
    return [
        Aligned(trace, shares(trace.source.spans, source.spans), shares(trace.target.spans, target.spans))
        for trace, source, target in zip(traces, left, right, strict=True)
    ]


def _weigh(
    translator: Translator, reverse: Translator | None, pairs: SentencePairs
) -> tuple[list[Aligned], list[Aligned] | None]:
    """The weights of all pairs without a blank side, in one direction or both."""
    sources, targets = ([side[row] for row in pairs.full] for side in (pairs.sources, pairs.targets))
    backward = None if reverse is None else weigh_words(reverse, targets, sources)
    return weigh_words(translator, sources, targets), backward


def _choose_on(
    translator: Translator, reverse: Translator | None, pairs: SentencePairs
) -> tuple[HeadSelection, HeadSelection | None]:
    if pairs.gold is None:
        raise DataError("Heads are chosen on pairs with known links, but these have none. Give them a gold.")
    known = [pairs.gold[row] for row in pairs.full]
    forward, backward = _weigh(translator, reverse, pairs)
    back = None if backward is None else choose(backward, [line.flipped() for line in known])[0].selection
    return choose(forward, known)[0].selection, back


def _check_reverse(translator: Translator, reverse: Translator) -> None:
    there, back = translator.toward().directory.description, reverse.toward().directory.description
    wanted = there.target_language, there.source_language
    if (back.source_language, back.target_language) != wanted:
        raise DataError(
            f"The reverse model must translate the other way round, {wanted[0]} → {wanted[1]}, but "
            f"{reverse.directory.path} translates {back.source_language} → {back.target_language}."
        )
