"""`saccade align`: which words of two sentences belong together, and how well that is known."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import saccade
from saccade.cli.console import note, print_result, stdout, table
from saccade.cli.download import locate_given
from saccade.cli.options import From, ModelPath, To, argument, option
from saccade.text.formats.opening import check_new
from saccade.trace.alignment import Method, Rows

if TYPE_CHECKING:
    from saccade.aligner import AlignmentReport
    from saccade.evaluation.alignment import Tried


def align(
    model: ModelPath,
    source: Annotated[
        Path, argument(metavar="SOURCE", help="Source sentences, one per line, with blanks between words.")
    ],
    target: Annotated[Path, argument(metavar="TARGET", help="Their translations, in the same form.")],
    to: To = None,
    source_language: From = None,
    reverse: Annotated[
        Path | None,
        option(
            "--reverse",
            metavar="DIR",
            help="A model of the opposite direction; links are merged.",
            callback=locate_given,
        ),
    ] = None,
    method: Annotated[
        Method, typer.Option("--method", help="How to merge two directions, strictest first.")
    ] = "grow-diag",
    heads: Annotated[
        str | None,
        option(
            "--heads",
            metavar="LAYER:HEAD,…",
            help="Heads to average, counted from 1: `3:1,3:4`, or `all`; the model's own unless given.",
        ),
    ] = None,
    rows: Annotated[
        Rows | None,
        option("--rows", help="Read the step that predicts a word (default), or the next one, which reads it."),
    ] = None,
    balance: Annotated[
        bool, option("--balance", help="Divide weights by what their source word gets: against words that attract all.")
    ] = False,
    threshold: Annotated[
        float | None,
        option("--threshold", min=0, max=1, help="Link all words of at least this weight, not only the best one."),
    ] = None,
    choose: Annotated[
        tuple[Path, Path, Path] | None,
        option("--choose", metavar="SOURCE TARGET GOLD", help="Choose heads, rows and balance on these other files."),
    ] = None,
    gold: Annotated[Path | None, option("--gold", "-g", help="The true links: print scores instead of links.")] = None,
    flip: Annotated[bool, option("--flip", help="The gold files have the target word first.")] = False,
    output: Annotated[Path | None, option("--output", "-o", help="Write the links here; must not exist.")] = None,
    as_json: Annotated[bool, option("--json", help="Print the scores as JSON; goes with --gold.")] = False,
) -> None:
    """Link the words of sentences with those of their translations: `0-0 1-2`, source first, counted from 0.

    A target word belongs to the source word that the model attends to most. Which heads to look at is chosen on files
    with known links (`--choose`), or by the agreement of two models (`--reverse`). With `--gold`, precision, recall and
    the alignment error rate.

    Examples: `saccade align --model runs/en-de a.en a.de > a.links`

    `saccade align -m runs/en-de a.en a.de --choose dev.en dev.de dev.gold --gold a.gold`
    """
    if (heads or rows or balance) and (choose or reverse):
        raise typer.BadParameter("--heads, --rows and --balance say what --choose or --reverse would find out")
    if as_json and gold is None:
        raise typer.BadParameter("--json prints scores, which need --gold")
    if output is not None:
        check_new(output, "aligned")
    from saccade.aligner import SentencePairs
    from saccade.aligner import align as find_links
    from saccade.trace import pharaoh
    from saccade.trace.alignment import HeadSelection, parse_heads

    pairs = SentencePairs.read(source, target, gold, flip=flip)
    held_out = None if choose is None else SentencePairs.read(*choose, flip=flip)
    for remark in (*pairs.remarks, *(held_out.remarks if held_out else ())):
        note(f"{remark}; skipped")
    given = (
        HeadSelection(parse_heads(heads or "all"), rows or "predicts", balance) if heads or rows or balance else None
    )
    found = find_links(
        saccade.load(model, to=to, source=source_language),
        pairs,
        selection=given if heads or rows or balance else None,
        choose_on=held_out,
        reverse=None if reverse is None else saccade.load(reverse, to=source_language, source=to),
        method=method,
        threshold=threshold,
    )
    if choose or reverse:
        selections = (str(selection) for selection in (found.selection, found.reverse_selection) if selection)
        note("Chosen: " + "; and for the reverse model ".join(selections))
    lines = "".join(pharaoh.write(links) + "\n" for links in found.links)
    if output is not None:
        output.write_text(lines, encoding="utf-8", newline="\n")
    if gold is not None and as_json:
        print_result(json.dumps(found.report().to_json(), indent=1))
    elif gold is not None:
        _print_report(found.report())
    elif output is None:
        print_result(lines.removesuffix("\n"))


def _print_report(report: "AlignmentReport") -> None:
    columns = ["", "precision", "recall", "AER", "95 %", "links"]
    lines = []
    for name, score in (("this model", report.scores), ("diagonal", report.diagonal)):
        shares = (f"{share:.3f}" for share in (score.precision, score.recall, score.error_rate))
        lines.append((name, *shares, f"{score.low:.3f} to {score.high:.3f}", f"{score.num_links:,}"))
    stdout.print(table(f"Alignment of {report.scores.num_sentences} sentence pairs", columns, lines))
    gain = report.gain
    print_result(f"\nThe diagonal's error rate is higher by {gain.value:.3f} ({gain.low:.3f} to {gain.high:.3f}).\n")
    stdout.print(_layer_table(report.tried))


def _layer_table(tried: "Iterable[Tried]") -> Any:
    """Every layer and head, in their order, with the ways of reading them beside each other."""
    rates: dict[str, dict[str, float]] = {}
    for way in sorted(tried, key=lambda way: (way.selection.heads is not None, way.name)):
        column = f"{way.selection.rows}{', balanced' if way.selection.balanced else ''}"
        rates.setdefault(way.name, {})[column] = way.error_rate
    columns = ["predicts", "predicts, balanced", "reads", "reads, balanced"]
    lines = [(name, *(f"{by_column[column]:.3f}" for column in columns)) for name, by_column in rates.items()]
    return table("AER of each layer and head, by arg-max", ["", *columns], lines)
