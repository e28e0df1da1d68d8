"""`saccade evaluate`: how good are these translations, or these models, and where are they not?"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.cells import cell_len

import saccade
from saccade import __version__
from saccade.cli.console import note, print_result
from saccade.cli.options import Beam, ComputeChoice, EngineChoice
from saccade.cli.submissions import check_counts, check_names, lines, named, of_model
from saccade.errors import DataError, OutputExists
from saccade.text.formats.opening import open_text

if TYPE_CHECKING:
    from saccade.evaluation.comparison import Comparison
    from saccade.evaluation.report import Report, Submission
    from saccade.evaluation.scores import Score

SURE = 0.05


def evaluate(
    reference: Annotated[
        list[Path] | None,
        typer.Option("--reference", "-r", help="The known translations, a file of lines.", show_default=False),
    ] = None,
    hypotheses: Annotated[
        list[str] | None,
        typer.Option(
            "--hypotheses",
            metavar="[NAME=]FILE",
            help="Translations to score, a file of lines. May be repeated.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="[NAME=]DIR",
            help="A model to translate --source with. May be repeated.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--source", "-s", help="What is translated, a file of lines.", show_default=False),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Target language; the model's own if there is one.", show_default=False),
    ] = None,
    beam: Beam = None,
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    test: Annotated[
        Literal["bootstrap", "randomization"],
        typer.Option("--test", help="How sure a difference is: paired bootstrap, or approximate randomization."),
    ] = "bootstrap",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the model's translations here.", show_default=False),
    ] = None,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a page here: buckets, plots, odd translations, sentences side by side.",
            show_default=False,
        ),
    ] = None,
    training_text: Annotated[
        Path | None,
        typer.Option(
            "--training-text",
            metavar="FILE",
            help="For the report: the target side of the training data, to tell rare words by.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all that is in the report as JSON.")] = False,
) -> None:
    """Score translations, or models, against a reference: BLEU, chrF2 and TER by sacreBLEU, with 95% intervals.

    Several systems are compared with the first of them; files of translations come before models. With a model, also
    its perplexity on the reference. Chinese and Japanese are tokenised as sacreBLEU does for them.

    Examples: `saccade evaluate --model runs/en-de --source test.en --reference test.de --report report.html`

    `saccade evaluate --hypotheses old.de --hypotheses new.de --reference test.de --language de`

    A model of another task is measured on data of its own: `saccade evaluate --model runs/documents`
    """
    from saccade.evaluation.comparison import compare
    from saccade.evaluation.report import Submission
    from saccade.translator import load

    if reference is None:
        _measure(model, as_json=as_json)
        return
    _check_usage(hypotheses, model, source, beam, output)
    if training_text is not None and report_file is None and not as_json:
        raise typer.BadParameter("--training-text is for --report and --json; without them, it changes nothing")
    for path, done in ((output, "translated"), (report_file, "evaluated")):
        if path is not None and path.exists():
            raise OutputExists(f"{path} exists already. Remove it or name another file; nothing was {done}.")
    files, models = named(hypotheses or ()), named(model or ())
    check_names([*files, *models])
    references = [lines(path, "known translation") for path in reference]
    sources = None if source is None else lines(source, "text to translate")
    handed_in = {name: Submission(lines(path, "translation")) for name, path in files}
    read = list(zip(reference, references, strict=True))
    read += [(source, sources)] if source is not None and sources is not None else []
    check_counts([*read, *((path, handed_in[name].translations) for name, path in files)])
    if not models and language is None:
        note("No --language given: BLEU uses the tokenisation for languages written with spaces (13a).")
    if models and source is not None and sources is not None:
        languages = {}
        for name, path in models:
            translator = load(path, engine=engine, compute=compute)
            languages[name] = translator.directory.description.target_language
            handed_in[name] = of_model(
                translator, sources, references[0], origin=source, beam=beam, attention=report_file is not None
            )
        language = language or _one_language(languages)
    if output is not None:
        texts = handed_in[models[0][0]].translations
        output.write_text("".join(text + "\n" for text in texts), encoding="utf-8", newline="\n")
    systems = {name: each.translations for name, each in handed_in.items()}
    compared = compare(systems, references, language=language or "", test=test)
    if report_file is not None or as_json:
        found = _report(compared, handed_in, references, sources, training_text)
        if report_file is not None:
            _write_page(found, report_file)
        if as_json:
            print_result(json.dumps(found.to_json(), ensure_ascii=False, indent=1))
            return
    _show(compared, handed_in)
    if report_file is not None:
        print_result(str(report_file))


def _measure(model: list[str] | None, *, as_json: bool) -> None:
    """The figures of a model that has learned a task other than translation, on data that nobody has seen."""
    learned = saccade.open_model(Path((model or [""])[0])) if len(model or ()) == 1 else None
    if learned is None or isinstance(learned, saccade.Translator):
        raise typer.BadParameter(
            "translations are scored against known ones: give --reference. Only a single --model that has learned "
            "another task needs none"
        )
    figures = learned.evaluate()
    if as_json:
        print_result(json.dumps(dict(figures), indent=1))
        return
    width = max(map(len, figures))
    print_result("\n".join(f"{name:<{width}}  {value:.4f}" for name, value in figures.items()))


def _check_usage(
    hypotheses: Sequence[str] | None,
    model: Sequence[str] | None,
    source: Path | None,
    beam: int | None,
    output: Path | None,
) -> None:
    if not (hypotheses or model) or (model and source is None) or (not model and (beam or output)):
        raise typer.BadParameter("give --hypotheses, or --model with --source and perhaps --beam and --output, or both")
    if output is not None and len(model or ()) > 1:
        raise typer.BadParameter("--output takes the translations of one --model, but there are several")


def _report(
    compared: "Comparison",
    handed_in: Mapping[str, "Submission"],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
    training_text: Path | None,
) -> "Report":
    from saccade.evaluation.buckets import frequencies
    from saccade.evaluation.report import report

    counted = None if training_text is None else frequencies(open_text(training_text))
    return report(compared, handed_in, references, sources=sources, frequencies=counted)


def _write_page(found: "Report", path: Path) -> None:
    from saccade.evaluation.page.page import page

    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(page(found, version=__version__))


def _one_language(languages: Mapping[str, str]) -> str:
    """What all models translate into."""
    if len(set(languages.values())) > 1:
        listed = ", ".join(f"{name} into {language}" for name, language in languages.items())
        raise DataError(
            f"Models that are compared must translate into one language, but these do not: {listed}. Compare others, "
            "or give --language if both names mean the same."
        )
    return next(iter(languages.values()))


def _show(compared: "Comparison", handed_in: Mapping[str, "Submission"]) -> None:
    if len(compared.systems) == 1:
        ((name, scores),) = compared.scores.items()
        for score in scores:
            print_result(f"{score.name:<5} {_value(score)}  {score.signature}")
        if facts := handed_in[name].facts:
            print_result(
                f"ppl   {facts['perplexity']:6.2f}  per target token, of {facts['tokens']:,}; beam {facts['beam']}"
            )
        return
    first = compared.systems[0]
    rows = [["", *(score.name for score in compared.scores[first]), *(["ppl"] if _any_facts(handed_in) else [])]]
    for name, scores in compared.scores.items():
        facts = handed_in[name].facts
        ppl = [f"{facts['perplexity']:6.2f}"] if facts else []
        rows.append([name, *(_value(score) + _p(score) for score in scores), *ppl])
    for row in _aligned(rows):
        print_result(row)
    print_result("")
    for score in compared.scores[first]:
        print_result(f"{score.name:<5}  {score.signature}")
    note(
        f"± is half of the 95% interval; p says how likely chance alone makes a difference this large to {first}, and "
        f"* marks p < {SURE}."
    )


def _any_facts(handed_in: Mapping[str, "Submission"]) -> bool:
    return any(each.facts for each in handed_in.values())


def _value(score: "Score") -> str:
    assert score.interval is not None
    return f"{score.value:6.2f} ± {score.interval.margin:.2f}"


def _p(score: "Score") -> str:
    if score.p_value is None:
        return ""
    return f"  p = {score.p_value:.4f}{'*' if score.p_value < SURE else ''}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other, however wide their characters are."""
    columns = range(max(map(len, rows)))
    widths = [max(cell_len(row[at]) for row in rows if at < len(row)) for at in columns]
    return [
        "   ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
