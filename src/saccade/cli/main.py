"""The `saccade` command: one file a verb. A user's mistake ends with a message and 1, never with a traceback."""

import os
import sys
from typing import Annotated

import typer

from saccade import __version__
from saccade.cli import demo, evaluate, info, init, prepare, train, translate, view
from saccade.cli.console import stderr
from saccade.errors import SaccadeError

app = typer.Typer(
    help="Train, run and see sequence-to-sequence attention models.",
    epilog="Start with `saccade demo`. Every command explains itself: `saccade train --help`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"saccade {__version__}\n")
        raise typer.Exit


@app.callback()
def saccade(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train, run and see sequence-to-sequence attention models."""


app.command()(demo.demo)
app.command()(init.init)
app.command()(prepare.prepare)
app.command()(train.train)
app.command()(translate.translate)
app.command()(evaluate.evaluate)
app.command()(info.info)
app.command()(view.view)


def run() -> None:
    """The door of the command line."""
    # Read when torch is loaded. Threads that wait asleep instead of spinning cost nothing on an idle machine, and
    # on a busy one an update is up to four times as fast.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stdin):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", newline="\n")
    try:
        app(prog_name="saccade")
    except SaccadeError as error:
        stderr.print("[bold red]error:[/] ", end="")
        stderr.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        stderr.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
