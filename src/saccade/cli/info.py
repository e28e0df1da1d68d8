"""`saccade info`: what a model is."""

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from saccade import settings
from saccade.cli.console import print_result
from saccade.directory import CARD, PARAMETERS, ModelDirectory


def info(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A model directory, or the run directory of a training.", show_default=False
        ),
    ],
) -> None:
    """Say what a model is: kind, sizes, vocabulary, languages, data, scores and checksums.

    Example: `saccade info runs/en-de`
    """
    directory = ModelDirectory.open(model)
    tokenizers = directory.tokenizers
    print_result(f'path = "{directory.path}"')
    print_result(f"num_parameters = {directory.num_parameters}")
    print_result(f"source_vocabulary = {len(tokenizers.source)}")
    print_result(f"target_vocabulary = {len(tokenizers.target)}")
    print_result(f"shares_vocabulary = {str(tokenizers.shared).lower()}")
    with (directory.path / PARAMETERS).open("rb") as file:
        print_result(f'sha256 = "{hashlib.file_digest(file, "sha256").hexdigest()}"')
    print_result(settings.dump(directory.description))
    if (directory.path / CARD).is_file():
        text = (directory.path / CARD).read_text(encoding="utf-8")
        print_result("".join(f"# {line}\n" for line in text.splitlines()))
