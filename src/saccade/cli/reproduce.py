"""`saccade reproduce`: a paper's claim, run and checked on this machine."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from saccade.cli.console import bar, note, print_result
from saccade.errors import DataError, MissingDependency, OutputExists, need_torch
from saccade.reproduce.claims import CLAIMS

EVERY = "all"


def reproduce(
    claim: Annotated[
        str | None, typer.Argument(help="Which one; `--list` names them, `all` is each in turn.", show_default=False)
    ] = None,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where the findings go, each into a directory of its name.")
    ] = Path("runs/reproduce"),
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="How many times, each from another seed.", show_default="3")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Little training and one seed: to see it run, not to judge.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the claims and exit.")] = False,
) -> None:
    """Run the experiment behind a paper's claim, and say whether it holds here.

    Writes finding.json, finding.md and a plot. No download: data is generated, or comes with a package. `all` passes
    over what was found before, so that it can be interrupted, and over what needs a package that is not installed.

    Examples: `saccade reproduce --list`

    `saccade reproduce length`

    `saccade reproduce all --quick`
    """
    if listed:
        width = max(map(len, CLAIMS))
        for name, what in CLAIMS.items():
            print_result(f"{name:<{width}} {what}")
        return
    if claim not in (*CLAIMS, EVERY):
        given = "none was named" if claim is None else f"there is no claim {claim}"
        raise DataError(f"A claim to reproduce must be one of {', '.join(CLAIMS)}, or {EVERY}, but {given}.")
    need_torch("`saccade reproduce`")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency(
            "`saccade reproduce` draws with matplotlib, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )
    chosen = range(1, 1 + (seeds or (1 if quick else 3)))
    if claim != EVERY and (directory / claim / "finding.json").exists():
        raise OutputExists(
            f"{directory / claim} has a finding already. Remove it or name another --directory; nothing was run."
        )
    for name in CLAIMS if claim == EVERY else [claim]:
        if (directory / name / "finding.json").exists():
            note(f"{name}: found before, see {directory / name}")
            continue
        try:
            _run(name, directory / name, chosen, quick=quick)
        except MissingDependency as error:
            if claim != EVERY:
                raise
            note(f"{name}: passed over. {error}")


def _run(name: str, directory: Path, seeds: range, *, quick: bool) -> None:
    from saccade.reproduce.claims import open_claim, reproduce
    from saccade.training import machine

    machine.use("cpu", threads=1)  # such small models gain nothing from a second one
    claim = open_claim(name)
    note(f"{claim.CLAIM}\nHolds if: {claim.RULE}")
    with bar("updates") as progress:
        tasks: dict[str, TaskID] = {}

        def advanced(who: str, done: int, of: int) -> None:
            if who not in tasks:
                tasks[who] = progress.add_task(who, total=of * len(seeds))
            progress.advance(tasks[who])

        _, told = reproduce(name, directory, seeds, quick=quick, advanced=advanced)
    print_result(f"{told}\n{directory}")
