"""`saccade clean`: a translation memory in, the pairs worth learning from out."""

import math
from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade.cli.options import OptionalModelPath, argument, option
from saccade.cli.prepare import PreparationDisplay


def clean(
    files: Annotated[list[Path], argument(metavar="FILES", help="One TSV file, or a source and a target file.")],
    output: Annotated[Path, option("--output", "-o", help="A new TSV file for the kept pairs; .gz and .zst compress.")],
    rejected: Annotated[
        Path | None, option("--rejected", help="A new file for the others, after their reason.")
    ] = None,
    source_language: Annotated[str | None, option("--from", help="Source language, to check its script.")] = None,
    target_language: Annotated[str | None, option("--to", help="Target language, to check its script.")] = None,
    model: OptionalModelPath = None,
    min_score: Annotated[
        float, option("--min-score", help="With --model: the lowest log-probability per token, such as -5.")
    ] = -math.inf,
    worst: Annotated[
        float, option("--worst", min=0, max=0.99, help="With --model: leave out this share, the least likely.")
    ] = 0,
    overrides: Annotated[
        list[str] | None,
        option("--set", metavar="NAME=VALUE", help="A setting of `[data.cleaning]`: `max_ratio=3`. May be repeated."),
    ] = None,
) -> None:
    """Leave out of a translation memory what would teach a model mistakes, and say how much of what.

    Left out are pairs with an empty side, sides of very different length, copies of the source and repeated pairs.

    Examples: `saccade clean memory.tsv -o clean.tsv --rejected rejected.tsv --from en --to de`

    `saccade clean memory.en memory.de -o clean.tsv --model runs/en-de --worst 0.05 --set max_ratio=3`
    """
    if (model is not None) != (worst > 0 or min_score > -math.inf):
        raise typer.BadParameter("--model goes with --min-score or --worst, or both")
    display = PreparationDisplay()
    try:
        saccade.clean(
            files,
            output,
            languages=(source_language, target_language),
            score_filter=None if model is None else saccade.ScoreFilter(saccade.load(model), min_score, worst),
            rejected=rejected,
            overrides=overrides or (),
            reporter=display,
        )
    finally:
        display.close()
