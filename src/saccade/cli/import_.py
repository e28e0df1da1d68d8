"""`saccade import`: a model of another program as a model directory."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import saccade
from saccade.cli.console import print_result
from saccade.cli.options import argument


def import_(
    path: Annotated[Path, argument(metavar="MODEL", help="The directory with the other program's files.")],
    output: Annotated[Path, argument(metavar="DIR", help="Where the model directory goes; must not exist.")],
    origin: Annotated[
        Literal["marian", "firefox"],
        typer.Option(
            "--from",
            help="marian: Marian models such as OPUS-MT, as Hugging Face lays them out or as published (.npz). "
            "firefox: the translation models of Firefox (Bergamot).",
        ),
    ] = "marian",
) -> None:
    """Make a model directory of a model that another program has trained.

    Examples: `saccade import --from marian opus-mt-en-de en-de`

    `saccade import --from firefox enpt en-pt`
    """
    print_result(str(saccade.import_model(path, output, origin=origin)))
