"""`saccade get`: a model from a hub."""

from pathlib import Path
from typing import Annotated

import saccade
from saccade.cli.console import print_result
from saccade.cli.download import shown_download
from saccade.cli.options import argument, option


def get(
    name: Annotated[str, argument(metavar="NAME", help="OWNER/NAME, as the hub calls it, or OWNER/NAME@REVISION.")],
    output: Annotated[
        Path | None,
        option("--output", "-o", metavar="DIR", help="Where the model goes; must not exist. A cache unless given."),
    ] = None,
    revision: Annotated[
        str | None, option("--revision", metavar="REV", help="A branch, tag or commit; main unless given.")
    ] = None,
) -> None:
    """Fetch a model from the Hugging Face hub, and print where it is.

    Every `--model` finds it again by its name, without a network: `--model hf:OWNER/NAME`. Marian models such as
    OPUS-MT can be fetched. After an interruption, run the same command again: what is here is not fetched again.
    HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean elsewhere; SACCADE_CACHE is where models are kept.

    Examples: `saccade get Helsinki-NLP/opus-mt-en-de`

    `echo "A dog runs." | saccade translate --model hf:Helsinki-NLP/opus-mt-en-de`
    """
    with shown_download() as display:
        path = saccade.get_model(name, output, revision=revision, reporter=display)
    print_result(str(path))
