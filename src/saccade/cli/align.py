"""`saccade align`: which words of two sentences belong together, and how well that is known."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from saccade.cli.console import note, print_result, stdout, table
from saccade.cli.options import ModelPath
from saccade.errors import DataError, OutputExists
from saccade.text.formats.opening import open_text
from saccade.text.normalize import normalize

if TYPE_CHECKING:
    from saccade.evaluation.alignment import Aligned, AlignmentScore, Tried
    from saccade.trace.alignment import Link, Method, Reading
    from saccade.trace.pharaoh import Gold

Readings = tuple["Reading", "Reading | None"]


def align(
    model: ModelPath,
    source: Annotated[
        Path,
        typer.Option(
            "--source",
            "-s",
            help="Sentences in the model's source language, one a line, with blanks between words.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path, typer.Option("--target", "-t", help="Their translations, in the same form.", show_default=False)
    ],
    reverse: Annotated[
        Path | None,
        typer.Option(
            "--reverse",
            metavar="DIR",
            help="A model of the opposite direction; what both say is made one.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        Literal["intersection", "grow-diag", "grow-diag-final-and", "union"],
        typer.Option("--method", help="How two directions are made one, the strictest first."),
    ] = "grow-diag",
    heads: Annotated[
        str | None,
        typer.Option(
            "--heads",
            metavar="LAYER:HEAD,…",
            help="Heads whose mean is read, counted from 1, such as `3:1,3:4`; all of them unless given.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        Literal["predicts", "reads"] | None,
        typer.Option(
            "--rows",
            help="Look at the step that predicts a word, which is the default, or at the next one, which reads it.",
            show_default=False,
        ),
    ] = None,
    balance: Annotated[
        bool,
        typer.Option(
            "--balance", help="Divide weights by all that their source word gets: against words that attract everybody."
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0,
            max=1,
            help="Link all words with this weight or more, not each target word with the source word of most weight.",
            show_default=False,
        ),
    ] = None,
    choose: Annotated[
        tuple[Path, Path, Path] | None,
        typer.Option(
            "--choose",
            metavar="SOURCE TARGET GOLD",
            help="Choose heads, rows and balance on these files; not on those that are to be measured.",
            show_default=False,
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option("--gold", "-g", help="The true links: print scores instead of links.", show_default=False),
    ] = None,
    flip: Annotated[bool, typer.Option("--flip", help="The gold files have the target word first.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the links here; must not exist.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON; goes with --gold.")] = False,
) -> None:
    """Link the words of sentences with those of their translations: `0-0 1-2`, source first, counted from 0.

    A target word belongs to the source word that the model attends to most. Which heads to look at is chosen on files
    with known links (`--choose`), or by the agreement of two models (`--reverse`). With `--gold`, precision, recall and
    the alignment error rate.

    Examples: `saccade align --model runs/en-de --source a.en --target a.de > a.links`

    `saccade align -m runs/en-de -s a.en -t a.de --choose dev.en dev.de dev.gold --gold a.gold`
    """
    if (heads or rows or balance) and (choose or reverse):
        raise typer.BadParameter("--heads, --rows and --balance say what --choose or --reverse would find out")
    if as_json and gold is None:
        raise typer.BadParameter("--json prints scores, which need --gold")
    if output is not None and output.exists():
        raise OutputExists(f"{output} exists already. Remove it or name another file; nothing was aligned.")
    from saccade.trace import pharaoh
    from saccade.trace.alignment import Reading, parse_heads

    measured = Pairs.read(source, target, gold, flip)
    held_out = None if choose is None else Pairs.read(*choose, flip)
    models = _Models.load(model, reverse, method, threshold)
    known = models.weigh(measured)
    if held_out is not None:
        readings = models.chosen_on(held_out)
    elif reverse is not None:
        readings = models.chosen_by_agreement(known)
    else:
        readings = Reading(parse_heads(heads or "all"), rows or "predicts", balance), None
    if choose or reverse:
        note("Chosen: " + "; and for the reverse model ".join(str(reading) for reading in readings if reading))
    found = measured.spread(models.links(known, readings))
    lines = "".join(pharaoh.write(links) + "\n" for links in found)
    if output is not None:
        output.write_text(lines, encoding="utf-8", newline="\n")
    if measured.gold is not None:
        _report(measured, measured.gold, found, known, as_json)
    elif output is None:
        print_result(lines.removesuffix("\n"))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentence pairs in words, and perhaps their true links."""

    sources: list[list[str]]
    targets: list[list[str]]
    gold: "list[Gold] | None"

    @classmethod
    def read(cls, source: Path, target: Path, gold: Path | None, flip: bool) -> "Pairs":
        from saccade.trace import pharaoh

        sources, targets = ([line.split() for line in open_text(path)] for path in (source, target))
        if len(sources) != len(targets):
            raise DataError(
                f"{source} has {len(sources)} lines but {target} has {len(targets)}. Line n of one must translate "
                "line n of the other; find the line that is missing or was split in two."
            )
        if not sources:
            raise DataError(f"{source} must hold at least one sentence, but it is empty.")
        if gold is None:
            return cls(sources, targets, None)
        known = pharaoh.read(open_text(gold), origin=str(gold))
        if flip:
            known = [line.flipped() for line in known]
        sizes = [(len(one), len(other)) for one, other in zip(sources, targets, strict=True)]
        known, remarks = pharaoh.within(known, sizes, origin=str(gold))
        for remark in remarks:
            note(f"{remark}; left out")
        return cls(sources, targets, known)

    @property
    def full(self) -> list[int]:
        """Where both sides have words that can be seen."""
        sides = zip(self.sources, self.targets, strict=True)
        return [row for row, pair in enumerate(sides) if all(normalize(" ".join(words)) for words in pair)]

    def spread(self, links: "Sequence[list[Link]]") -> "list[list[Link]]":
        """The links of full pairs, with none for the others between them."""
        found: list[list[Link]] = [[] for _ in self.sources]
        for row, each in zip(self.full, links, strict=True):
            found[row] = each
        return found


Weighed = tuple["list[Aligned]", "list[Aligned] | None"]


@dataclass(frozen=True, slots=True)
class _Models:
    """One model, or two of opposite directions, and how their weights become links."""

    forward: Any
    backward: Any
    method: "Method"
    threshold: float | None

    @classmethod
    def load(cls, model: Path, reverse: Path | None, method: "Method", threshold: float | None) -> "_Models":
        from saccade.translator import load

        forward, backward = load(model), None if reverse is None else load(reverse)
        if backward is not None:
            languages = [each.directory.description for each in (forward, backward)]
            wanted = languages[0].target_language, languages[0].source_language
            if (languages[1].source_language, languages[1].target_language) != wanted:
                raise DataError(
                    f"--reverse must translate the other way round, {wanted[0]} → {wanted[1]}, but {reverse} "
                    f"translates {languages[1].source_language} → {languages[1].target_language}."
                )
        return cls(forward, backward, method, threshold)

    def weigh(self, pairs: Pairs) -> Weighed:
        """The weights between the words of all pairs that have any."""
        from saccade.aligner import align

        sources, targets = ([side[row] for row in pairs.full] for side in (pairs.sources, pairs.targets))
        return align(self.forward, sources, targets), (
            None if self.backward is None else align(self.backward, targets, sources)
        )

    def chosen_on(self, pairs: Pairs) -> Readings:
        from saccade.evaluation import alignment

        assert pairs.gold is not None
        known = [pairs.gold[row] for row in pairs.full]
        forward, backward = self.weigh(pairs)
        turned = [line.flipped() for line in known]
        back = None if backward is None else alignment.choose(backward, turned)[0].reading
        return alignment.choose(forward, known)[0].reading, back

    def chosen_by_agreement(self, known: Weighed) -> Readings:
        from saccade.evaluation import alignment

        assert known[1] is not None
        forward, backward = alignment.choose_by_agreement(known[0], known[1])
        return forward[0].reading, backward[0].reading

    def links(self, known: Weighed, readings: Readings) -> "list[list[Link]]":
        from saccade.trace.alignment import flipped, symmetrise

        there = [pair.links(readings[0], self.threshold) for pair in known[0]]
        if known[1] is None or readings[1] is None:
            return there
        back = [flipped(pair.links(readings[1], self.threshold)) for pair in known[1]]
        return [symmetrise(one, other, self.method) for one, other in zip(there, back, strict=True)]


def _report(pairs: Pairs, gold: "list[Gold]", found: "list[list[Link]]", known: Weighed, as_json: bool) -> None:
    """Scores beside those of the diagonal; and of every layer, for the reader alone: nothing is chosen by them."""
    from saccade.evaluation import alignment

    sizes = zip(pairs.sources, pairs.targets, strict=True)
    plain = [alignment.diagonal(len(source), len(target)) for source, target in sizes]
    scores = {"this model": alignment.score(found, gold), "diagonal": alignment.score(plain, gold)}
    gain = alignment.difference(plain, found, gold)
    tried = alignment.choose(known[0], [gold[row] for row in pairs.full])
    if as_json:
        print_result(
            json.dumps(
                {
                    **{name.replace(" ", "_"): asdict(score) for name, score in scores.items()},
                    "gain": asdict(gain),
                    "readings": [{"reading": str(each.reading), "error_rate": each.error_rate} for each in tried],
                },
                indent=1,
            )
        )
        return
    stdout.print(_score_table(scores))
    print_result(f"\nThe diagonal's error rate is higher by {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f}).\n")
    stdout.print(_layer_table(tried))


def _score_table(scores: "dict[str, AlignmentScore]") -> Any:
    columns = ["", "precision", "recall", "AER", "95 %", "links"]
    lines = [
        (
            name,
            f"{each.precision:.3f}",
            f"{each.recall:.3f}",
            f"{each.error_rate:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            f"{each.num_links:,}",
        )
        for name, each in scores.items()
    ]
    sentences = next(iter(scores.values())).num_sentences
    return table(f"Alignment of {sentences} sentence pairs", columns, lines)


def _layer_table(tried: "list[Tried]") -> Any:
    """Every layer and head, in their order, with the ways of reading them beside each other."""
    rates: dict[str, dict[str, float]] = {}
    for each in sorted(tried, key=lambda each: (each.reading.heads is not None, each.name)):
        column = f"{each.reading.rows}{', balanced' if each.reading.balanced else ''}"
        rates.setdefault(each.name, {})[column] = each.error_rate
    columns = ["predicts", "predicts, balanced", "reads", "reads, balanced"]
    lines = [(name, *(f"{found[column]:.3f}" for column in columns)) for name, found in rates.items()]
    return table("AER of each layer and head, by arg-max", ["", *columns], lines)
