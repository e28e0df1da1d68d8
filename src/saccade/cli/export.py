"""`saccade export`: a model in the format of another program."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from saccade.cli.console import print_result
from saccade.cli.options import ModelPath
from saccade.directory import ModelDirectory
from saccade.interop import marian


def export(
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the files go; must not exist.", show_default=False)
    ],
    model: ModelPath,
    to: Annotated[
        Literal["marian"], typer.Option("--to", help="marian: for `MarianMTModel` of Hugging Face transformers.")
    ] = "marian",
) -> None:
    """Write a model in the format of another program, with its tokenizers beside.

    Example: `saccade export --model runs/en-de --to marian en-de-marian`
    """
    directory = ModelDirectory.open(model)
    match to:
        case "marian":
            marian.export(directory, output)
    print_result(str(output))
