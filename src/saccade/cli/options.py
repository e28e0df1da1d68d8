"""Arguments and options that several commands share."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from saccade.engines.engine import Compute, EngineName

RecipeFile = Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe, a TOML file.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Override a setting of the recipe, in TOML: `--set training.updates=500`. May be repeated.",
        show_default=False,
    ),
]
SearchOverrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Override a setting of the model's search, in TOML: `--set search.length_penalty=0.8`. May be repeated.",
        show_default=False,
    ),
]
ModelPath = Annotated[
    Path,
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="A model directory, or the run directory of a training.",
        show_default=False,
    ),
]
ModelPaths = Annotated[
    list[Path],
    typer.Option(
        "--model",
        "-m",
        metavar="DIR",
        help="A model directory, or the run directory of a training. Several translate together, as an ensemble.",
        show_default=False,
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        "-b",
        min=1,
        help="Beam width; 1 is greedy. The model's own setting unless given.",
        show_default=False,
    ),
]
EngineChoice = Annotated[
    EngineName,
    typer.Option("--engine", help="What runs the model. auto: CTranslate2 for Transformers, PyTorch for all others."),
]
ComputeChoice = Annotated[
    Compute,
    typer.Option("--compute", help="Numeric precision; int8 is faster and needs CTranslate2."),
]

Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="Where the model runs: cpu, cuda, or cuda:1 for the second GPU."),
]


def typed(verb: str, recipe: Path, overrides: Sequence[str] | None) -> str:
    """A command as its user types it, for messages that say what comes next."""
    settings = [word for override in overrides or () for word in ("--set", override)]
    return shlex.join(["saccade", verb, str(recipe), *settings])
