"""`saccade view`: where a model looks while it reads and writes."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

import saccade
from saccade.cli.console import note, print_result, stdout
from saccade.cli.options import Beam, Device, OptionalModelPath, To, argument, option
from saccade.errors import DataError
from saccade.text.formats.opening import check_new
from saccade.text.normalize import normalize
from saccade.trace.draw import ENDINGS
from saccade.trace.file import load_all
from saccade.trace.trace import AttentionTrace, Kind
from saccade.trace.words import words as in_words


def view(
    text: Annotated[str | None, argument(metavar="TEXT", help="What to translate.")] = None,
    model: OptionalModelPath = None,
    to: To = None,
    target: Annotated[str | None, option("--target", help="Show this translation, not the model's own.")] = None,
    stored: Annotated[Path | None, option("--from", help="Draw a stored trace (.json); needs no model.")] = None,
    kind: Annotated[
        str | None,
        option("--kind", help="Who looks at what: cross (default), encoder (the source at itself) or decoder."),
    ] = None,
    layer: Annotated[
        int | None, option("--layer", min=1, help="One layer, counted from 1; the mean unless given.")
    ] = None,
    head: Annotated[
        int | None, option("--head", min=1, help="One head, counted from 1; the mean unless given.")
    ] = None,
    words: Annotated[
        bool, option("--words", help="Words instead of tokens; single characters in Chinese and Japanese.")
    ] = False,
    outputs: Annotated[
        list[Path] | None,
        option(
            "--output",
            "-o",
            help="Also write this; must not exist. A picture (.svg, .png), a page to explore (.html) or the trace "
            "(.json). May be repeated.",
        ),
    ] = None,
    grid: Annotated[bool, option("--grid", help="Draw every layer and head in the pictures (.svg, .png).")] = False,
    beam: Beam = None,
    n_best: Annotated[
        int | None,
        option("--n-best", min=1, help="Translations, best first; .html and .json hold all, pictures the best."),
    ] = None,
    device: Device = "cpu",
) -> None:
    """Translate a text and show what was attended to, for every token of the translation.

    Examples: `saccade view --model runs/en-de "A dog runs." --layer 3 --head 2 -o attention.svg`

    `saccade view --model runs/en-de "A dog runs." --n-best 5 -o attention.html -o attention.json`

    `saccade view --from attention.json --words`

    A model of another task shows an example of its own, or what TEXT describes: `saccade view --model runs/documents`
    """
    if stored is not None and any(option is not None for option in (text, model, to, target, beam, n_best)):
        raise typer.BadParameter(
            "--from shows what is stored: leave TEXT, --model, --to, --target, --beam and --n-best out"
        )
    if target is not None and any(option is not None for option in (beam, n_best)):
        raise typer.BadParameter("--target is written as it is given: leave --beam and --n-best out")
    _check_outputs(outputs or [], grid=grid, chosen=layer or head)
    if stored is not None:
        traces = load_all(stored)
    elif model is None:
        raise typer.BadParameter("give --model with a TEXT, or --from with a stored trace")
    else:
        traces = _traces(saccade.open_model(model, device=device), text, to, target, beam, n_best or 1)
    if words:
        traces = [in_words(trace) for trace in traces]
    _check_choice(traces[0], kind, layer, head)
    for trace in traces:
        ranked = len(traces) > 1 and trace.score is not None
        print_result(f"{trace.score:.4f}\t{trace.target.text}" if ranked else trace.target.text)
    draw(traces, layer=layer, head=head, kind=cast(Kind | None, kind), outputs=outputs or [], grid=grid)
    for path in outputs or []:
        print_result(str(path))


def draw(
    traces: Sequence[AttentionTrace],
    *,
    layer: int | None = None,
    head: int | None = None,
    kind: Kind | None = None,
    outputs: Sequence[Path] = (),
    grid: bool = False,
) -> None:
    """The heat-map of the first in the terminal, and files as their names say; layers and heads are counted from 1."""
    from saccade.trace.terminal import heatmap

    at, which = (None if number is None else number - 1 for number in (layer, head))
    for chosen in traces[0].apart(at, kind=kind):
        stdout.print(heatmap(traces[0], chosen, which, kind=kind))
    with warnings.catch_warnings(record=True) as lacking:  # scripts that no font of this machine has
        warnings.simplefilter("always")
        for path in outputs:
            saccade.draw(traces, path, layer=at, head=which, kind=kind, grid=grid)
    for warning in lacking:
        note(str(warning.message))


def _traces(
    model: "saccade.Translator | saccade.TaskModel",
    text: str | None,
    to: str | None,
    target: str | None,
    beam: int | None,
    n_best: int,
) -> list[AttentionTrace]:
    """What the model writes by itself, best first, or what it is made to write; of another task, for any input."""
    if not isinstance(model, saccade.Translator):
        if to is not None or target is not None or beam is not None or n_best > 1:
            raise typer.BadParameter("--to, --target, --beam and --n-best need a model that translates: leave them out")
        return model.show(text)
    if text is None:
        raise typer.BadParameter("give --model with a TEXT, or --from with a stored trace")
    if not all(normalize(side) for side in (text, target) if side is not None):
        raise DataError("A text to look at must have at least one token, but this one is blank.")
    model = model.toward(to)
    if target is not None:
        return [model.trace(text, target)]
    best = model.translate(text, beam=beam, n_best=n_best, attention=True)
    for remark in best.notes:
        note(f"The text {remark}")
    return best.traces


def _check_outputs(outputs: Sequence[Path], *, grid: bool, chosen: int | None) -> None:
    for path in outputs:
        if path.suffix.lower() not in ENDINGS:
            ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
            endings = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            raise DataError(f"{path} must end in {endings}, which says what is to be written, but {ending}.")
        check_new(path, "drawn")
    if grid and (chosen or not any(path.suffix.lower() in (".svg", ".png") for path in outputs)):
        raise typer.BadParameter("--grid draws all layers and heads into .svg or .png: leave --layer and --head out")


def _check_choice(trace: AttentionTrace, kind: str | None, layer: int | None, head: int | None) -> None:
    if kind not in (None, *trace.kinds):
        raise DataError(f"--kind must be one of {', '.join(trace.kinds)} for this model, not {kind}.")
    layers = trace.of(kind)
    heads = min(each.num_heads for each in layers)
    for name, number, most in (("--layer", layer, len(layers)), ("--head", head, heads)):
        if number is not None and number > most:
            raise DataError(f"{name} must be from 1 to {most} for this model, not {number}.")
