"""`saccade view`: where a model looks while it translates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.console import note, print_result, stdout
from saccade.cli.options import Beam, ModelPath
from saccade.cli.translate import search_settings
from saccade.errors import DataError, OutputExists

if TYPE_CHECKING:
    from saccade.translator import Translation


def view(
    model: ModelPath,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to translate.", show_default=False)],
    layer: Annotated[
        int | None,
        typer.Option(
            "--layer",
            min=1,
            help="One decoder layer, counted from 1; the mean of all unless given.",
            show_default=False,
        ),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            "--head",
            min=1,
            help="One head, counted from 1; the mean of all unless given.",
            show_default=False,
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", help="Also draw an SVG picture here; must not exist.", show_default=False),
    ] = None,
    beam: Beam = None,
) -> None:
    """Translate a text and show what each token of the translation attended to.

    Examples: `saccade view --model runs/en-de "A dog runs."`

    `saccade view --model runs/en-de "A dog runs." --layer 3 --head 2 --svg attention.svg`
    """
    from saccade.translator import load

    if svg is not None and svg.exists():
        raise OutputExists(f"{svg} exists already. Remove it or name another file; nothing was drawn.")
    translator = load(model)
    translation = translator.translate(text, search=search_settings(translator.search, beam), attention=True)
    for remark in translation.notes:
        note(f"The text {remark}")
    if translation.attention is None:
        raise DataError("A text to look at must have at least one token, but this one is blank.")
    print_result(translation.text)
    draw(translation, layer=layer, head=head, svg=svg)
    if svg is not None:
        print_result(str(svg))


def draw(
    translation: "Translation", *, layer: int | None = None, head: int | None = None, svg: Path | None = None
) -> None:
    """The heat-map in the terminal, and as a picture if wanted; layers and heads are counted from 1."""
    from saccade.trace.svg import svg as drawn
    from saccade.trace.terminal import heatmap

    trace = translation.attention
    assert trace is not None
    layers = trace.of()
    for option, number, most in (("--layer", layer, len(layers)), ("--head", head, layers[0].num_heads)):
        if number is not None and number > most:
            raise DataError(f"{option} must be from 1 to {most} for this model, not {number}.")
    chosen = [None if number is None else number - 1 for number in (layer, head)]
    stdout.print(heatmap(trace, *chosen))
    if svg is not None:
        svg.write_text(drawn(trace, *chosen, title=translation.text), encoding="utf-8")
