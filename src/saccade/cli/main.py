"""The `saccade` command: one file a verb. A user's mistake ends with a message and 1, never with a traceback."""

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from safetensors import SafetensorError
from typer.core import TyperGroup

from saccade import __version__
from saccade.cli import (
    align,
    clean,
    demo,
    evaluate,
    export,
    get,
    import_,
    info,
    init,
    prepare,
    reproduce,
    score,
    train,
    translate,
    tune,
    view,
)
from saccade.cli.console import note, stderr
from saccade.cli.plain_help import PlainHelp, Verb
from saccade.errors import SaccadeError


class Commands(PlainHelp, TyperGroup):
    """All commands, and how each ends when it cannot go on."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            print(end="", flush=True)  # what cannot be written is to fail here, not when the process ends
            return result
        except SaccadeError as error:
            refuse(str(error))
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            _drop_unwritable()
            raise typer.Exit(0) from None
        except (OSError, SafetensorError) as error:
            _drop_unwritable()
            refuse(explained(error))
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(130) from None


def refuse(message: str) -> NoReturn:
    """End with a message for the user."""
    stderr.print("[bold red]error:[/] ", end="")
    note(message)
    raise typer.Exit(1)


def explained(error: OSError | SafetensorError) -> str:
    """What cannot be read or written, why, and what to check."""
    name, reason = getattr(error, "filename", None), getattr(error, "strerror", None) or str(error)
    return (
        f"Cannot read or write {name or 'the output'}: {reason}. "
        "Check that its directory exists, that you may write there and that the disk is not full."
    )


def _drop_unwritable() -> None:
    """What stdout still holds and cannot write goes nowhere; else Python would try again, and fail, at its end."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    help="Train, run and see sequence-to-sequence attention models.",
    epilog="Start with `saccade demo`. Every command explains itself: `saccade train --help`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"saccade {__version__}")
        raise typer.Exit


@app.callback()
def saccade(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, run and see sequence-to-sequence attention models."""


for module in (
    demo,
    init,
    clean,
    prepare,
    train,
    tune,
    translate,
    evaluate,
    score,
    align,
    info,
    get,
    export,
    import_,
    view,
    reproduce,
):
    verb = module.__name__.rpartition(".")[2]
    app.command(verb.removesuffix("_"), cls=Verb)(getattr(module, verb))


def run() -> None:
    """The door of the command line."""
    # Read when torch is loaded. Threads that spin while they wait are faster on an idle machine (up to 1.9 times), but
    # on a busy one training comes to a near standstill (49 times slower); see docs/log.md.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stdin):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", newline="\n")
    app(prog_name="saccade")
