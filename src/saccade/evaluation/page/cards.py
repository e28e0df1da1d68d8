"""One sentence on the page: source, reference, and what each system made of it, with the differing words marked."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from saccade.evaluation.page.charts import colour
from saccade.evaluation.page.templates import both, part
from saccade.evaluation.report import Report
from saccade.evaluation.sentences import Sentence
from saccade.evaluation.words import pieces
from saccade.markup import Markup, join, tag

WORST_LENGTH = 0.5, 2.0
"""Outside of these, the length of a translation is shown as odd."""


def cards(report: Report, rows: Iterable[int], kind: str = "") -> Markup:
    """A list of sentences."""
    listed = [_card(report, row) for row in rows]
    return part("cards", kind=kind, cards=join(*listed)) if listed else part("no cards")


def _card(report: Report, row: int) -> Markup:
    sentences = [system.sentences[row] for system in report.systems]
    reference, *others = (lines[row] for lines in report.references)
    compared = [difference(reference, sentence.text) for sentence in sentences]
    missed = set.intersection(*(missing for _, missing in compared))
    lines = [] if report.sources is None else [_line("source", report.sources[row])]
    lines.append(_line("reference", marked(pieces(reference), missed, "ins")))
    lines += [_line("reference", other) for other in others]
    for number, (system, sentence, (extra, _)) in enumerate(zip(report.systems, sentences, compared, strict=True)):
        words = marked(pieces(sentence.text), extra, "mark") if sentence.text else part("nothing")
        name = part("key", colour=colour(number), name=system.name)
        lines.append(part("line", kind="system", name=name, text=words))
        lines.append(part("facts", facts=join(*_facts(sentence))))
    return part(
        "card",
        row=row,
        number=f"{row + 1:,}",
        chrf=" ".join(f"{sentence.chrf:.2f}" for sentence in sentences),
        odd="yes" if any(map(is_odd, sentences)) else "no",
        lines=join(*lines),
    )


def _line(kind: str, words: str) -> Markup:
    return part("line", kind=kind, name=both(kind), text=words)


def is_odd(sentence: Sentence) -> bool:
    """Whether anything but its score is remarkable."""
    return sentence.empty or sentence.copied or sentence.repetition > 0 or _has_odd_length(sentence)


def _has_odd_length(sentence: Sentence) -> bool:
    shortest, longest = WORST_LENGTH
    return sentence.length_ratio is not None and not shortest <= sentence.length_ratio <= longest


def difference(reference: str, text: str) -> tuple[set[int], set[int]]:
    """Which pieces of the text the reference has not in their place, and which of the reference the text has not."""
    # Spaces would be found to agree everywhere; only what is written counts.
    known, written = (
        [(at, piece) for at, piece in enumerate(pieces(side)) if not piece.isspace()] for side in (reference, text)
    )
    matcher = SequenceMatcher(None, [piece for _, piece in known], [piece for _, piece in written], autojunk=False)
    extra, missing = {at for at, _ in written}, {at for at, _ in known}
    for block in matcher.get_matching_blocks():
        missing -= {at for at, _ in known[block.a : block.a + block.size]}
        extra -= {at for at, _ in written[block.b : block.b + block.size]}
    return extra, missing


def marked(words: Sequence[str], chosen: set[int], element: str) -> Markup:
    """The text again, its chosen pieces inside an element; a space between two of them is inside, too."""
    inside = [at in chosen or (word.isspace() and {at - 1, at + 1} <= chosen) for at, word in enumerate(words)]
    runs = groupby(zip(inside, words, strict=True), key=itemgetter(0))
    texts = ((is_inside, "".join(word for _, word in run)) for is_inside, run in runs)
    return join(*(tag(element, text) if is_inside else text for is_inside, text in texts))


def _facts(sentence: Sentence) -> Iterator[Markup]:
    yield tag("span", f"chrF2 {sentence.chrf:.1f}")
    yield tag("span", f"BLEU {sentence.bleu:.1f}")
    if sentence.empty:
        yield tag("span", both("is empty"), class_="odd")
    elif sentence.length_ratio is not None:
        ratio = both("ratio", ratio=f"{sentence.length_ratio:.2f}")
        yield tag("span", ratio, class_="odd" if _has_odd_length(sentence) else None)
    if sentence.copied:
        yield tag("span", both("is copied"), class_="odd")
    if sentence.repetition:
        yield tag("span", both("repeats", count=sentence.repetition), class_="odd")
    if sentence.gaze is not None:
        entropy, uncovered = f"{sentence.gaze.entropy:.2f}", f"{sentence.gaze.uncovered:.0%}"
        yield tag("span", both("gaze", entropy=entropy, uncovered=uncovered))
