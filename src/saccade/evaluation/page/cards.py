"""One sentence on the page: source, reference, and what each system made of it, with the differing words marked."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from saccade.evaluation.page.charts import colour
from saccade.evaluation.page.labels import both
from saccade.evaluation.page.markup import Markup, join, tag
from saccade.evaluation.report import Report
from saccade.evaluation.sentences import Sentence
from saccade.evaluation.words import pieces

WORST_LENGTH = 0.5, 2.0
"""Outside of these, the length of a translation is shown as odd."""


def cards(report: Report, rows: Iterable[int], kind: str = "") -> Markup:
    """A list of sentences."""
    found = [_card(report, row) for row in rows]
    return tag("ol", *found, class_=f"cards {kind}".strip()) if found else tag("p", both("none"), class_="quiet")


def _card(report: Report, row: int) -> Markup:
    sentences = [system.sentences[row] for system in report.systems]
    reference = report.references[0][row]
    compared = [difference(reference, sentence.text) for sentence in sentences]
    missed = set.intersection(*(missing for _, missing in compared))
    lines = [_line(both("reference"), "reference", marked(pieces(reference), missed, "ins"))]
    lines += [_line(both("reference"), "reference", other[row]) for other in report.references[1:]]
    if report.sources is not None:
        lines.insert(0, _line(both("source"), "source", report.sources[row]))
    for number, (system, sentence, (extra, _)) in enumerate(zip(report.systems, sentences, compared, strict=True)):
        body = marked(pieces(sentence.text), extra, "mark") if sentence.text else tag("i", "∅", class_="quiet")
        name = join(tag("b", class_=f"key {colour(number)}"), tag("bdi", system.name))
        lines += [_line(name, "system", body), _line("", "facts", _facts(sentence))]
    numbers = " ".join(f"{sentence.chrf:.2f}" for sentence in sentences)
    odd = any(is_odd(sentence) for sentence in sentences)
    return tag(
        "li",
        tag("span", f"{row + 1:,}", class_="row"),
        tag("dl", *lines),
        class_="card",
        data_row=row,
        data_chrf=numbers,
        data_odd=odd,
    )


def is_odd(sentence: Sentence) -> bool:
    """Whether anything but its score is remarkable."""
    shortest, longest = WORST_LENGTH
    ratio = sentence.length_ratio
    wrong_length = ratio is not None and not shortest <= ratio <= longest
    return sentence.empty or sentence.copied or sentence.repetition > 0 or wrong_length


def difference(reference: str, text: str) -> tuple[set[int], set[int]]:
    """Which pieces of the text the reference has not in their place, and which of the reference the text has not."""
    known, said = pieces(reference), pieces(text)
    # Spaces would be found to agree everywhere; only what is written counts.
    real_known, real_said = (
        [(at, piece) for at, piece in enumerate(found) if not piece.isspace()] for found in (known, said)
    )
    matcher = SequenceMatcher(
        None, [piece for _, piece in real_known], [piece for _, piece in real_said], autojunk=False
    )
    extra, missing = {at for at, _ in real_said}, {at for at, _ in real_known}
    for block in matcher.get_matching_blocks():
        missing -= {at for at, _ in real_known[block.a : block.a + block.size]}
        extra -= {at for at, _ in real_said[block.b : block.b + block.size]}
    return extra, missing


def marked(found: Sequence[str], chosen: set[int], element: str) -> Markup:
    """The text again, its chosen pieces inside an element; a space between two of them is inside, too."""
    parts: list[Markup | str] = []
    run: list[str] = []
    for at, piece in enumerate(found):
        if at in chosen or (run and piece.isspace() and at + 1 in chosen):
            run.append(piece)
            continue
        if run:
            parts.append(tag(element, "".join(run)))
            run = []
        parts.append(piece)
    if run:
        parts.append(tag(element, "".join(run)))
    return join(*parts)


def _facts(sentence: Sentence) -> Markup:
    shortest, longest = WORST_LENGTH
    ratio = sentence.length_ratio
    facts: list[Markup] = [
        tag("span", f"chrF2 {sentence.chrf:.1f}"),
        tag("span", f"BLEU {sentence.bleu:.1f}"),
    ]
    if sentence.empty:
        facts.append(tag("span", both("is empty"), class_="odd"))
    elif ratio is not None:
        odd = not shortest <= ratio <= longest
        facts.append(tag("span", both("ratio", ratio=f"{ratio:.2f}"), class_="odd" if odd else None))
    if sentence.copied:
        facts.append(tag("span", both("is copied"), class_="odd"))
    if sentence.repetition:
        facts.append(tag("span", both("repeats", count=sentence.repetition), class_="odd"))
    if sentence.gaze is not None:
        entropy, uncovered = f"{sentence.gaze.entropy:.2f}", f"{sentence.gaze.uncovered:.0%}"
        facts.append(tag("span", both("gaze", entropy=entropy, uncovered=uncovered)))
    return join(*facts)


def _line(name: object, kind: str, body: object) -> Markup:
    direction = None if kind == "facts" else "auto"
    return join(tag("dt", name, class_=kind), tag("dd", body, class_=kind, dir=direction))
