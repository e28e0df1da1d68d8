"""Arguments and options that several commands share."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from saccade.cli.download import locate_given


def option(*names: str, help: str, **more: Any) -> Any:
    """An option whose help says what happens without it."""
    return typer.Option(*names, help=help, show_default=False, **more)


def argument(*, help: str, **more: Any) -> Any:
    """An argument whose help says what happens without it."""
    return typer.Argument(help=help, show_default=False, **more)


RecipeFile = Annotated[Path, argument(metavar="RECIPE", help="The recipe, a TOML file.")]
_set = partial(option, "--set", metavar="NAME=VALUE")
Overrides = Annotated[
    list[str] | None,
    _set(help="Override a setting of the recipe, in TOML: `--set training.updates=500`. May be repeated."),
]
SearchOverrides = Annotated[
    list[str] | None,
    _set(help="Override a search setting, in TOML: `--set search.length_penalty=0.8`. May be repeated."),
]
_model = partial(option, "--model", "-m", metavar="DIR", callback=locate_given)
_MODEL = "A model directory, the run directory of a training, or hf:OWNER/NAME on a hub."
ModelPath = Annotated[Path, _model(help=_MODEL)]
OptionalModelPath = Annotated[Path | None, _model(help=_MODEL)]
ModelPaths = Annotated[list[Path], _model(help=f"{_MODEL} Several translate together, as an ensemble.")]
To = Annotated[
    str | None, option("--to", metavar="CODE", help="Language to translate to, of a model that has several: `--to de`.")
]
From = Annotated[
    str | None,
    option("--from", metavar="CODE", help="Language to translate from, where the texts do not tell."),
]
Beam = Annotated[
    int | None, option("--beam", "-b", min=1, help="Beam width; 1 is greedy. The model's own setting unless given.")
]
EngineChoice = Annotated[
    Literal["auto", "ctranslate2", "torch"],
    typer.Option("--engine", help="What runs the model. auto: CTranslate2 for Transformers, PyTorch for all others."),
]
ComputeChoice = Annotated[
    Literal["float32", "int8"],
    typer.Option("--compute", help="Numeric precision; int8 is faster and needs CTranslate2."),
]

Device = Annotated[
    str, typer.Option("--device", metavar="NAME", help="Where the model runs: cpu, cuda, or cuda:1 for the second GPU.")
]


def typed(verb: str, recipe: Path, overrides: Sequence[str] | None) -> str:
    """A command as its user types it, for messages that say what comes next."""
    settings = [word for override in overrides or () for word in ("--set", override)]
    return shlex.join(["saccade", verb, str(recipe), *settings])
