"""`saccade translate`: lines in, lines out, as soon as they are there and in memory that does not grow with them."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade import LineOptions, LineReporter, LineTranslation, MinimumRisk, Wording
from saccade.cli.console import Bar, bar, note, stderr
from saccade.cli.options import (
    Beam,
    ComputeChoice,
    Device,
    EngineChoice,
    From,
    ModelPaths,
    SearchOverrides,
    To,
    argument,
    option,
)
from saccade.errors import DataError, need_torch
from saccade.line_translation import check_output
from saccade.text.formats.glossary import read_glossary
from saccade.text.formats.opening import check_readable
from saccade.text.formats.stream import EncodingErrors, Lines
from saccade.text.segments import Split


def translate(
    model: ModelPaths,
    files: Annotated[
        list[Path] | None, argument(metavar="FILE", help="Lines, plain, gzip or zstd; standard input without any.")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="Write here instead of to standard output; must not exist. Compressed if it ends in .gz or .zst. "
            "Run the same command again to resume an interrupted job.",
        ),
    ] = None,
    to: To = None,
    source: From = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None, option("--n-best", min=1, help="Translations per line, best first, each after its score and a tab.")
    ] = None,
    glossary: Annotated[
        Path | None, option("--glossary", help="Phrases and translations to use for them, a tab between the two.")
    ] = None,
    mbr: Annotated[
        int | None, option("--mbr", min=2, help="Sample N translations, take that most like all (minimum Bayes risk).")
    ] = None,
    as_json: Annotated[
        bool, option("--json", help="Write each line as JSON: text, score, alternatives (see --n-best) and notes.")
    ] = False,
    overrides: SearchOverrides = None,
    split: Annotated[
        Split,
        typer.Option(
            "--split",
            help="auto: cut lines longer than those the model was trained on. sentences: cut every line into its "
            "sentences. never: have the model read every line whole.",
        ),
    ] = "auto",
    encoding_errors: Annotated[
        EncodingErrors,
        typer.Option("--encoding-errors", help="strict: end at a byte that is not UTF-8. replace: read it as �."),
    ] = "strict",
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
    device: Device = "cpu",
) -> None:
    """Translate lines of text; line n of the output belongs to line n of the input, blank lines included.

    Examples: `echo "A dog runs." | saccade translate --model runs/en-de`

    `saccade translate --model runs/en-de news.en -o news.de`

    `saccade translate --model runs/many --to zh news.en -o news.zh`

    `saccade translate --model runs/en-de book.en -o book.de --split sentences --set search.length_penalty=0.8`
    """
    if output is not None:
        check_output(output)
    for path in files or ():
        if " " in str(path) and not path.exists():
            raise DataError(f"There is no file {path}. To translate a text: echo '{path}' | saccade translate …")
        check_readable(path)
    wording = None
    if glossary is not None:
        need_torch("--glossary")
        wording = Wording(glossary=read_glossary(glossary))
    risk = None if mbr is None else MinimumRisk(samples=mbr)
    translator = saccade.load(
        model, engine=engine, compute=compute, device=device, wording=wording, mbr=risk, to=to, source=source
    ).toward()
    options = LineOptions(beam, n_best, overrides or (), split, as_json, encoding_errors)
    if not files and sys.stdin.isatty():
        note("Type text to translate, a line at a time; Ctrl-D ends.")
    on_screen = output is None and sys.stdout.isatty()
    with (
        closing(Lines(files or (), None if files else sys.stdin.buffer, errors=encoding_errors)) as lines,
        bar(None, hidden=on_screen) as progress,
    ):
        work = LineTranslation(translator, options, LineDisplay(progress, lines))
        if output is not None:
            work.write(lines, output)
        else:
            for text in work.translate(lines, most=1 if on_screen else None, waits=False):
                sys.stdout.write(text)
                sys.stdout.flush()
    if output is not None or (stderr.is_terminal and not sys.stdout.isatty()):
        note(work.summary)


class LineDisplay(LineReporter):
    """Moves a bar by the bytes of the input, which are known before it is read."""

    def __init__(self, progress: Bar, lines: Lines) -> None:
        self.progress = progress
        self.task = progress.add_task("translating", total=lines.num_bytes, completed=lines.read_bytes)

    def advanced(self, read_bytes: float, lines: int) -> None:
        self.progress.update(self.task, completed=read_bytes, figures=(f"{lines:,} lines",))

    def noted(self, sentence: str) -> None:
        note(sentence)
