"""`saccade export`: a model for another program."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import saccade
from saccade.cli.console import print_result
from saccade.cli.options import ModelPath, argument, option


def export(
    output: Annotated[Path, argument(metavar="OUTPUT", help="The directory to write; must not exist.")],
    model: ModelPath,
    to: Annotated[
        Literal["ctranslate2", "marian"],
        option("--to", help="ctranslate2: for `ctranslate2.Translator`. marian: for `MarianMTModel` of transformers."),
    ],
    quantize: Annotated[
        Literal["float32", "int8"],
        typer.Option("--quantize", help="ctranslate2: numbers of the parameters; int8 takes a quarter of the space."),
    ] = "float32",
) -> None:
    """Write a model in the format of another program, with its tokenizers beside.

    Examples: `saccade export --model runs/en-de --to ctranslate2 en-de-ct2 --quantize int8`

    `saccade export --model runs/en-de --to marian en-de-marian`
    """
    if to == "marian" and quantize != "float32":
        raise typer.BadParameter("--quantize is for --to ctranslate2; the Marian layout holds float32")
    print_result(str(saccade.export_model(model, output, to=to, quantize=quantize)))
