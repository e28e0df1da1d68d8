"""`saccade export`: a model in the format of another program."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from saccade.cli.console import print_result
from saccade.cli.options import ModelPath
from saccade.directory import ModelDirectory
from saccade.interop import ctranslate2


def export(
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the files go; must not exist.", show_default=False)
    ],
    model: ModelPath,
    to: Annotated[
        Literal["ctranslate2"],
        typer.Option("--to", help="ctranslate2: for `ctranslate2.Translator`.", show_default=False),
    ],
    quantize: Annotated[
        ctranslate2.Quantization,
        typer.Option("--quantize", help="Numbers of the parameters: int8 takes a quarter of the space."),
    ] = "float32",
) -> None:
    """Write a model in the format of another program, with its tokenizers beside.

    Example: `saccade export --model runs/en-de --to ctranslate2 en-de-ct2 --quantize int8`
    """
    directory = ModelDirectory.open(model)
    match to:
        case "ctranslate2":
            ctranslate2.export(directory, output, quantize=quantize)
    print_result(str(output))
