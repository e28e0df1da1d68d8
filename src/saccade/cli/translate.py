"""`saccade translate`: lines in, lines out."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.console import bar, note
from saccade.cli.options import Beam, ComputeChoice, EngineChoice, ModelPaths
from saccade.errors import DataError, OutputExists
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_readable, open_text

if TYPE_CHECKING:
    from saccade.translator import Translator

CHUNK = 2000  # lines read, sorted by length, translated and written at a time


def translate(
    model: ModelPaths,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Files of lines, plain, gzip or zstd; standard input without any.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write here instead of to standard output; must not exist.",
            show_default=False,
        ),
    ] = None,
    beam: Beam = None,
    n_best: Annotated[
        int,
        typer.Option(
            "--n-best",
            min=1,
            help="Write so many translations of each line, best first, each with its score before a tab.",
        ),
    ] = 1,
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary",
            metavar="FILE",
            help="Phrases with their translations, a tab between them: to be used where the phrase occurs.",
            show_default=False,
        ),
    ] = None,
    mbr: Annotated[
        int | None,
        typer.Option(
            "--mbr",
            metavar="N",
            min=2,
            help="Draw N translations by chance and take the one that is most like all of them (minimum Bayes risk).",
            show_default=False,
        ),
    ] = None,
    engine: EngineChoice = "auto",
    compute: ComputeChoice = "float32",
) -> None:
    """Translate lines of text; line n of the output belongs to line n of the input, blank lines included.

    Examples: `echo "A dog runs." | saccade translate --model runs/en-de`

    `saccade translate --model runs/en-de news.en -o news.de`
    """
    from saccade.evaluation.risk import MinimumRisk
    from saccade.text.formats.glossary import read_glossary
    from saccade.text.wording import Wording
    from saccade.translator import load

    if output is not None and output.exists():
        raise OutputExists(f"{output} exists already. Remove it or name another file; nothing was translated.")
    for path in files or ():
        check_readable(path)
    wording = None if glossary is None else Wording(glossary=read_glossary(glossary))
    risk = None if mbr is None else MinimumRisk(samples=mbr)
    translator = load(model, engine=engine, compute=compute, wording=wording, mbr=risk)
    settings = search_settings(translator.search, beam, n_best)
    lines = chain.from_iterable(open_text(path) for path in files) if files else standard_input()
    if output is not None:
        write(translated(translator, lines, settings), output)
    else:
        for text in translated(translator, lines, settings, onto_screen=sys.stdout.isatty()):
            print(text, flush=True)


def search_settings(own: SearchSettings, beam: int | None, n_best: int = 1) -> SearchSettings:
    """The model's own settings with what the command line asks for; several translations need as wide a beam."""
    width = max(own.beam if beam is None else beam, n_best)
    return replace(own, beam=width, n_best=n_best)


def translated(
    translator: "Translator", lines: Iterable[str], settings: SearchSettings, *, onto_screen: bool = False
) -> Iterator[str]:
    """The translations of lines in order, as they become ready; on a screen that is line by line."""
    lines, number = iter(lines), 0
    with bar("lines", hidden=onto_screen) as progress:
        task = progress.add_task("translating", total=None)
        while chunk := list(islice(lines, 1 if onto_screen else CHUNK)):
            for line, result in zip(
                range(number + 1, number + 1 + len(chunk)),
                translator.translate(chunk, search=settings, advanced=lambda count: progress.advance(task, count)),
                strict=True,
            ):
                for remark in result.notes:
                    note(f"line {line} {remark}")
                if settings.n_best == 1:
                    yield result.text
                else:
                    # A blank line has one translation, which is repeated: line n of the input has lines of its own.
                    several = islice(cycle((result, *result.alternatives)), settings.n_best)
                    yield from (f"{each.score:.4f}\t{each.text}" for each in several)
            number += len(chunk)


def write(texts: Iterable[str], output: Path) -> None:
    """Into a new file. When an error or Ctrl-C comes between, what is there already stays, and is told."""
    count = 0
    with output.open("x", encoding="utf-8", newline="\n") as file:
        try:
            for text in texts:
                file.write(text + "\n")
                count += 1
        except BaseException:
            if count:
                note(f"{output} is not complete: it has {count:,} lines.")
            else:
                output.unlink()
            raise


def standard_input() -> Iterator[str]:
    """Lines of standard input, strictly UTF-8, split at newlines only."""
    if sys.stdin.isatty():
        note("Type text to translate, a line at a time; Ctrl-D ends.")
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Standard input must be UTF-8 text, but byte {error.start + 1} of line {number} is "
                f"0x{line[error.start]:02X}, which is not. Convert it first, for example with: "
                "iconv -f WINDOWS-1252 -t UTF-8"
            ) from None
