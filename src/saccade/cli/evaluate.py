"""`saccade evaluate`: how good are these translations, or these models, and where are they not?"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len

import saccade
from saccade.cli.console import bar, note, print_result
from saccade.cli.download import locate
from saccade.cli.options import Beam, ComputeChoice, EngineChoice, option
from saccade.errors import DataError, SaccadeError
from saccade.evaluation.reporter import EvaluationReporter
from saccade.evaluation.significance import SURE, Test
from saccade.text.formats.opening import check_new

if TYPE_CHECKING:
    from saccade.evaluation.scores import CorpusScore
    from saccade.evaluator import Evaluation, System

METRICS = ("BLEU", "chrF2", "TER")


def evaluate(
    reference: Annotated[
        list[Path] | None, option("--reference", "-r", help="The known translations, a file of lines.")
    ] = None,
    hypotheses: Annotated[
        list[str] | None,
        option("--hypotheses", metavar="[NAME=]FILE", help="Translations to score, a file of lines. May be repeated."),
    ] = None,
    model: Annotated[
        list[str] | None,
        option("--model", "-m", metavar="[NAME=]DIR", help="A model to translate --source with. May be repeated."),
    ] = None,
    source: Annotated[Path | None, option("--source", "-s", help="What is translated, a file of lines.")] = None,
    language: Annotated[
        str | None, option("--language", "-l", "--to", help="Target language; the model's own if it has only one.")
    ] = None,
    beam: Beam = None,
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    test: Annotated[
        Test, typer.Option("--test", help="How sure a difference is: paired bootstrap, or approximate randomization.")
    ] = "bootstrap",
    output: Annotated[Path | None, option("--output", "-o", help="Also write the model's translations here.")] = None,
    report_file: Annotated[
        Path | None,
        option("--report", help="Also write a page: buckets, plots, odd translations, sentences side by side."),
    ] = None,
    training_text: Annotated[
        Path | None,
        option("--training-text", help="For the report: target side of the training data, to find rare words."),
    ] = None,
    as_json: Annotated[bool, option("--json", help="Print all that is in the report as JSON.")] = False,
    json_summary: Annotated[
        bool, option("--json-summary", help="Print scores, signatures and intervals alone as JSON.")
    ] = False,
    fail_under: Annotated[
        list[str] | None,
        option("--fail-under", metavar="METRIC=VALUE", help="Exit with 1 if a score is worse: `BLEU=30`. Repeatable."),
    ] = None,
    baseline: Annotated[
        Path | None, option("--baseline", help="What --json or --json-summary printed earlier, for --fail-if-worse.")
    ] = None,
    fail_if_worse: Annotated[
        bool, option("--fail-if-worse", help="Exit with 1 if a score is worse than the --baseline by more than chance.")
    ] = False,
) -> None:
    """Score translations, or models, against a reference: BLEU, chrF2 and TER by sacreBLEU, with 95% intervals.

    Several systems are compared with the first of them; files of translations come before models. With a model, also
    its perplexity on the reference. Chinese and Japanese are tokenised as sacreBLEU does for them.

    Examples: `saccade evaluate --model runs/en-de --source test.en --reference test.de --report report.html`

    `saccade evaluate --hypotheses old.de --hypotheses new.de --reference test.de --language de`

    `saccade evaluate --model runs/en-de -s test.en -r test.de --baseline old.json --fail-if-worse --fail-under BLEU=30`

    A model of another task is measured on data of its own: `saccade evaluate --model runs/documents`
    """
    from saccade.evaluation.gates import failures, read_baseline, regressions
    from saccade.evaluator import evaluate as score

    if reference is None:
        _measure(model, as_json=as_json)
        return
    if not (hypotheses or model) or (model and source is None) or (not model and (beam or output)):
        raise typer.BadParameter("give --hypotheses, or --model with --source and perhaps --beam and --output, or both")
    if output is not None and len(model or ()) > 1:
        raise typer.BadParameter("--output takes the translations of one --model, but there are several")
    if training_text is not None and report_file is None and not as_json:
        raise typer.BadParameter("--training-text is for --report and --json; without them, it changes nothing")
    if (baseline is not None) != fail_if_worse:
        raise typer.BadParameter("--baseline and --fail-if-worse go together")
    limits = _limits(fail_under or ())
    for path, done in ((output, "translated"), (report_file, "evaluated")):
        if path is not None:
            check_new(path, done)
    files, models = _named(hypotheses or ()), _named(model or ())
    _check_names([*files, *models])
    earlier = None if baseline is None else read_baseline(baseline)
    if not models and language is None:
        note("No --language given: BLEU uses the tokenisation for languages written with spaces (13a).")
    systems: dict[str, System] = dict(files)
    systems |= {name: saccade.load(locate(path), engine=engine, compute=compute) for name, path in models}
    with _progress() as reporter:
        evaluation = score(
            systems,
            reference=reference,
            source=source,
            language=language,
            beam=beam,
            test=test,
            attention=report_file is not None,
            reporter=reporter,
        )
    if output is not None:
        texts = evaluation.submissions[models[0][0]].translations
        output.write_text("".join(text + "\n" for text in texts), encoding="utf-8", newline="\n")
    report = None if report_file is None else evaluation.write_report(report_file, training_text)
    if as_json:
        report = report or evaluation.report(training_text)
        print_result(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
    elif json_summary:
        print_result(json.dumps(evaluation.summary(), ensure_ascii=False, indent=1))
    else:
        _show(evaluation)
        if report_file is not None:
            print_result(str(report_file))
    scores = evaluation.comparison.scores
    if problems := [*failures(scores, limits), *(() if earlier is None else regressions(scores, earlier))]:
        raise SaccadeError(" ".join(problems))


def _named(words: Sequence[str]) -> list[tuple[str, Path]]:
    """Of NAME=PATH or PATH."""
    from saccade.evaluator import default_name

    found = []
    for word in words:
        name, equals, rest = word.partition("=")
        path = Path(rest if equals and not Path(word).exists() else word)
        found.append((name if path != Path(word) else default_name(path), path))
    return found


def _check_names(systems: Sequence[tuple[str, Path]]) -> None:
    """Refuse two systems of one name, which nobody could tell apart."""
    for name, count in Counter(name for name, _ in systems).items():
        if count > 1:
            paths = " and ".join(str(path) for other, path in systems if other == name)
            raise DataError(
                f"Every system must have a name of its own, but {paths} are both called {name or 'nothing'}. Give "
                "names, such as: --hypotheses old=FILE --hypotheses new=FILE"
            )


def _limits(words: Sequence[str]) -> dict[str, float]:
    """Of METRIC=VALUE."""
    metrics = {name.lower(): name for name in METRICS} | {"chrf": "chrF2"}
    limits = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            limits[metrics[name.strip().lower()]] = float(value)
        except (KeyError, ValueError):
            expected = f"one of {', '.join(METRICS)}, and a number, such as BLEU=30"
            raise typer.BadParameter(f"--fail-under must be {expected}, not {word!r}") from None
    return limits


@contextmanager
def _progress() -> Iterator[EvaluationReporter]:
    """A bar while models translate; remarks are printed beside it."""
    with bar("lines") as progress:

        class Shown(EvaluationReporter):
            def translating(self, system: str, total: int) -> None:
                self.task = progress.add_task(f"translating: {system}", total=total)

            def translated(self, count: int) -> None:
                progress.advance(self.task, count)

            def noted(self, remark: str) -> None:
                note(remark)

        yield Shown()


def _measure(model: list[str] | None, *, as_json: bool) -> None:
    """The figures of a model that has learned a task other than translation, on data that nobody has seen."""
    learned = saccade.open_model(locate(Path((model or [""])[0]))) if len(model or ()) == 1 else None
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


def _show(evaluation: "Evaluation") -> None:
    compared, submissions = evaluation.comparison, evaluation.submissions
    if len(compared.systems) == 1:
        ((name, scores),) = compared.scores.items()
        for score in scores:
            print_result(f"{score.name:<5} {_value(score)}  {score.signature}")
        if facts := submissions[name].facts:
            tokens = f"per target token, of {facts['tokens']:,}"
            print_result(f"ppl   {facts['perplexity']:6.2f}  {tokens}; beam {facts['beam']}")
        return
    first = compared.systems[0]
    ppl = ["ppl"] if any(submission.facts for submission in submissions.values()) else []
    rows = [["", *(score.name for score in compared.scores[first]), *ppl]]
    for name, scores in compared.scores.items():
        facts = submissions[name].facts
        ppl = [f"{facts['perplexity']:6.2f}"] if facts else []
        rows.append([name, *map(_value, scores), *ppl])
    for row in _aligned(rows):
        print_result(row)
    print_result("")
    for score in compared.scores[first]:
        print_result(f"{score.name:<5}  {score.signature}")
    note(
        f"± is half of the 95% interval; p says how likely chance alone makes a difference this large to {first}, and "
        f"* marks p < {SURE}."
    )


def _value(score: "CorpusScore") -> str:
    assert score.interval is not None
    p = "" if score.p_value is None else f"  p = {score.p_value:.4f}{'*' if score.p_value < SURE else ''}"
    return f"{score.value:6.2f} ± {score.interval.margin:.2f}{p}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under each other, however wide their characters are."""
    columns = range(max(map(len, rows)))
    widths = [max(cell_len(row[at]) for row in rows if at < len(row)) for at in columns]
    return [
        "   ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
