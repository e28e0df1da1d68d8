"""Help in words that users know: `--json` alone, `--beam N`, `--source FILE`, rather than Python's names of types."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer import rich_utils
from typer.core import TyperCommand

WORDS = {bool: "", int: "N", float: "X", str: "TEXT", Path: "FILE"}

rich_utils.RANGE_STRING = ""  # else "[x>=1]" after each bounded number


class PlainHelp:
    """Commands whose parameters say in a word what they take."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # the argument's name says it
            elif param.metavar is None and hasattr(param, "type_descriptor"):  # typer 0.29 and later
                param.metavar = "DIR" if param.name == "directory" else word(param.type_descriptor.annotation)
        return params


class Verb(PlainHelp, TyperCommand):
    """A command."""


def word(annotation: Any) -> str:
    """What an option of this type is followed by in the help."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "|".join(map(str, args))
    return word(args[0]) if origin is list else WORDS[annotation]
