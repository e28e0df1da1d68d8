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
from saccade.cli.options import argument
from saccade.errors import DataError, SaccadeError
from saccade.reproduce import claims
from saccade.reproduce.claims import CLAIMS, NEEDS
from saccade.reproduce.finding import TEXTS

EVERY = "all"
NAP = 0.1
"""Seconds between two checks of claims that run side by side."""


def reproduce(
    claim: Annotated[str | None, argument(help="Name of a claim (see `--list`), or `all`.")] = None,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where the findings are written, each to a directory of its name.")
    ] = Path("runs/reproduce"),
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="How many seeds to run each experiment with.", show_default="3")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Little training and one seed: to see it run, without a verdict.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", "-p", min=1, help="Claims that run at a time.", show_default="cores")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the claims and exit.")] = False,
) -> None:
    """Run the experiment behind a paper's claim, and say whether it holds here.

    Writes finding.json, finding.md and a plot. No download: data is generated, or comes with a package. `all` skips
    claims that were run before, so that it can be interrupted, and those that need a package that is not installed.

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
    number = seeds or (1 if quick else 3)
    if claim == EVERY:
        claims.need_packages()
        words = ["--directory", str(directory), "--seeds", str(number), *(["--quick"] if quick else [])]
        _run_side_by_side(list(_to_be_run(directory)), words, processes or os.cpu_count() or 1)
    else:
        _run(claim, directory / claim, range(1, 1 + number), quick=quick)


def _to_be_run(directory: Path) -> Iterator[str]:
    for name in CLAIMS:
        if (directory / name / "finding.json").exists():
            note(f"{name}: already run, see {directory / name}")
        elif name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            remedy = f'Install it with: pip install "saccade[{name}]"'
            note(f"{name}: skipped, as it needs {NEEDS[name]}, which is not installed. {remedy}")
        else:
            yield name


def _run_side_by_side(names: Sequence[str], words: Sequence[str], processes: int) -> None:
    """Each claim by a command of its own, `processes` of them at a time; whatever ends this one ends them all."""
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
                    report, remarks = (process := running.pop(name)).communicate()
                    if process.returncode:
                        failed.append(name)
                        note(f"{name}: {remarks.strip()}")
                    else:
                        print_result(f"{name}: {CLAIMS[name]}\n\n{report}")
                    progress.advance(task)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.communicate()
    if failed:
        raise SaccadeError(f"{', '.join(failed)}: failed, for the reasons above. The same command tries again.")


def _run(name: str, directory: Path, seeds: range, *, quick: bool) -> None:
    claims.need_packages()
    note(f"{TEXTS[name]['claim']}\nHolds if: {TEXTS[name]['rule']}")
    with bar("updates") as progress:
        tasks: dict[str, TaskID] = {}

        def advanced(contestant: str, done: int, of: int) -> None:
            if contestant not in tasks:
                tasks[contestant] = progress.add_task(contestant, total=of * len(seeds))
            progress.advance(tasks[contestant])

        _, report = claims.reproduce(name, directory, seeds=seeds, quick=quick, advanced=advanced)
    print_result(f"{report}\n{directory}")
