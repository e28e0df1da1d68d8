"""`saccade info`: what a model is."""

from pathlib import Path
from typing import Annotated

import tomli_w
import typer

from saccade import settings
from saccade.cli.console import print_result
from saccade.directory import CARD, PARAMETERS, ModelDirectory, TaskDirectory, holds_task
from saccade.files import sha256_of


def info(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A model directory, or the run directory of a training.", show_default=False
        ),
    ],
) -> None:
    """Say what a model is: kind, sizes, vocabulary, languages, data, scores and checksums. The output is TOML.

    Example: `saccade info runs/en-de`
    """
    directory = TaskDirectory.open(model) if holds_task(model) else ModelDirectory.open(model)
    facts = {
        "path": str(directory.path),
        "num_parameters": directory.num_parameters,
        **(_vocabularies(directory) if isinstance(directory, ModelDirectory) else {}),
        "sha256": sha256_of(directory.path / PARAMETERS),
    }
    print_result(tomli_w.dumps({**facts, **settings.table(directory.description)}))
    if (directory.path / CARD).is_file():
        text = (directory.path / CARD).read_text(encoding="utf-8")
        print_result("".join(f"# {line}\n" for line in text.splitlines()))


def _vocabularies(directory: ModelDirectory) -> dict[str, int | bool]:
    tokenizers = directory.tokenizers
    return {
        "source_vocabulary": len(tokenizers.source),
        "target_vocabulary": len(tokenizers.target),
        "shares_vocabulary": tokenizers.shares_vocabulary,
    }
