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
        Literal["ctranslate2", "marian", "saccade"],
        option(
            "--to",
            help="ctranslate2: for `ctranslate2.Translator`. marian: for `MarianMTModel` of transformers. saccade: a "
            "model directory.",
        ),
    ],
    quantize: Annotated[
        Literal["float32", "float16", "int8"],
        typer.Option("--quantize", help="Type of the parameters; float16 is for saccade, int8 for ctranslate2."),
    ] = "float32",
) -> None:
    """Write a model in the format of another program, with its tokenizers beside, or in half the space.

    Examples: `saccade export --model runs/en-de --to ctranslate2 en-de-ct2 --quantize int8`

    `saccade export --model runs/en-de --to marian en-de-marian`

    `saccade export --model runs/en-de --to saccade en-de-small --quantize float16`
    """
    print_result(str(saccade.export_model(model, output, to=to, quantize=quantize)))
