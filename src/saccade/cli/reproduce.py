"""`saccade reproduce`: a paper's claim, run and checked on this machine."""

import importlib.util
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from saccade.cli.console import bar, note, print_result
from saccade.cli.options import argument, option
from saccade.errors import DataError, MissingDependency, OutputExists, SaccadeError, need_torch
from saccade.reproduce.claims import CLAIMS, NEEDS

EVERY = "all"
NAP = 0.1
"""Seconds between two looks at claims that run side by side."""


def reproduce(
    claim: Annotated[str | None, argument(help="Which one; `--list` names them, `all` is each of them.")] = None,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where the findings go, each into a directory of its name.")
    ] = Path("runs/reproduce"),
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="How many seeds.", show_default="3")] = None,
    quick: Annotated[bool, option("--quick", help="Little training, one seed: to see it run, not to judge.")] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", "-p", min=1, help="How many at a time.", show_default="cores")
    ] = None,
    listed: Annotated[bool, option("--list", help="Name the claims and exit.")] = False,
) -> None:
    """Run the experiment behind a paper's claim, and say whether it holds here.

    Writes finding.json, finding.md and a plot. No download: data is generated, or comes with a package. `all` skips
    what was found before, so that it can be interrupted, and what needs a package that is not installed.

    Examples: `saccade reproduce --list`

    `saccade reproduce length`

    `saccade reproduce all --quick`
    """
    if listed:
        width = max(map(len, CLAIMS))
        for name, what in CLAIMS.items():
            print_result(f"{name:<{width}} {what}")
        return
    if claim is None or claim not in (*CLAIMS, EVERY):
        given = "none was named" if claim is None else f"there is no claim {claim}"
        raise DataError(f"A claim to reproduce must be one of {', '.join(CLAIMS)}, or {EVERY}, but {given}.")
    need_torch("`saccade reproduce`")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency(
            "`saccade reproduce` draws with matplotlib, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )
    number = seeds or (1 if quick else 3)
    if claim == EVERY:
        words = ["--directory", str(directory), "--seeds", str(number), *(["--quick"] if quick else [])]
        _run_side_by_side(list(_to_be_run(directory)), words, processes or os.cpu_count() or 1)
        return
    if (directory / claim / "finding.json").exists():
        refusal = "has a finding already. Remove it or name another --directory; nothing was run."
        raise OutputExists(f"{directory / claim} {refusal}")
    _run(claim, directory / claim, range(1, 1 + number), quick=quick)


def _to_be_run(directory: Path) -> Iterator[str]:
    for name in CLAIMS:
        if (directory / name / "finding.json").exists():
            note(f"{name}: found before, see {directory / name}")
        elif name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            remedy = f'Install it with: pip install "saccade[{name}]"'
            note(f"{name}: skipped, as it needs {NEEDS[name]}, which is not installed. {remedy}")
        else:
            yield name


def _run_side_by_side(names: Sequence[str], words: Sequence[str], processes: int) -> None:
    """Each claim by a command of its own, so many at a time; whatever ends this one ends them all."""
    waiting, failed = deque(names), []
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        with bar("claims") as progress:
            task = progress.add_task(EVERY, total=len(names))
            while waiting or running:
                while waiting and len(running) < processes:
                    name = waiting.popleft()
                    command = [sys.executable, "-m", "saccade", "reproduce", name, *words]
                    running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                time.sleep(NAP)
                for name in [name for name, process in running.items() if process.poll() is not None]:
                    told, remarks = (process := running.pop(name)).communicate()
                    if process.returncode:
                        failed.append(name)
                        note(f"{name}: {remarks.strip()}")
                    else:
                        print_result(f"{name}: {CLAIMS[name]}\n\n{told}")
                    progress.advance(task)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.communicate()
    if failed:
        raise SaccadeError(f"{', '.join(failed)}: not found, for the reasons above. The same command tries again.")


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
