"""`saccade info`: what a model is."""

from pathlib import Path
from typing import Annotated

import tomli_w

import saccade
from saccade.cli.console import print_result
from saccade.cli.download import locate_given
from saccade.cli.options import argument


def info(
    model: Annotated[
        Path,
        argument(
            metavar="MODEL",
            help="A model directory, the run directory of a training, or hf:OWNER/NAME on a hub.",
            callback=locate_given,
        ),
    ],
) -> None:
    """Say what a model is: kind, sizes, vocabulary, languages, data, scores and checksums. The output is TOML.

    Example: `saccade info runs/en-de`
    """
    facts = saccade.describe_model(model)
    card = facts.pop("card")
    print_result(tomli_w.dumps(facts))
    if card:
        print_result("".join(f"# {line}\n" for line in card.splitlines()))
