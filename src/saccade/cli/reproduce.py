"""`saccade reproduce`: a paper's claim, run and checked on this machine."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import bar, note, print_result
from saccade.errors import DataError, MissingDependency, OutputExists, need_torch

CLAIMS = {"length": "length hurts a fixed vector, and not attention (Bahdanau et al. 2015, Figure 2)"}


def reproduce(
    claim: Annotated[str | None, typer.Argument(help="Which one; `--list` names them.", show_default=False)] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", "-d", help="Where the findings go; runs/reproduce/CLAIM unless given."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many times, each from another seed.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the training: to see it run, not to judge.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the claims and exit.")] = False,
) -> None:
    """Run the experiment behind a paper's claim, and say whether it holds here.

    Writes finding.json, finding.md and a plot. Everything is generated: no download.

    Examples: `saccade reproduce --list`

    `saccade reproduce length --seeds 3`
    """
    if listed:
        for name, what in CLAIMS.items():
            print_result(f"{name:<10} {what}")
        return
    if claim not in CLAIMS:
        given = "none was named" if claim is None else f"there is no claim {claim}"
        raise DataError(f"A claim to reproduce must be one of {', '.join(CLAIMS)}, but {given}.")
    need_torch("`saccade reproduce`")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency(
            "`saccade reproduce` draws with matplotlib, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )
    directory = directory or Path("runs/reproduce") / claim
    if (directory / "finding.json").exists():
        raise OutputExists(
            f"{directory} has a finding already. Remove it or name another --directory; nothing was run."
        )
    directory.mkdir(parents=True, exist_ok=True)
    _length(directory, range(1, seeds + 1), quick=quick)


def _length(directory: Path, seeds: range, *, quick: bool) -> None:
    from saccade.reproduce import length
    from saccade.training import machine

    updates = 100 if quick else 1000
    machine.use("cpu", threads=1)  # such small models gain nothing from a second one
    note(f"{length.CLAIM}\nHolds if: {length.RULE}")
    with bar("updates") as progress:
        tasks = {name: progress.add_task(name, total=updates * len(seeds)) for name in length.CONTESTANTS}
        finding = length.run(
            updates=updates, seeds=seeds, advanced=lambda name, done, of: progress.advance(tasks[name])
        )
    finding.save(directory)
    verdict = "The claim holds here." if finding.holds else "The claim does not hold here."
    if quick:
        verdict = "A quick run: too little training to judge the claim by."
    page = f"{length.CLAIM}\n\nHolds if: {length.RULE}\n\n{length.table(finding)}\n\n{verdict}\n"
    (directory / "finding.md").write_text(page, encoding="utf-8")
    length.plot(finding, directory / "length.png")
    print_result(f"{length.table(finding)}\n\n{verdict}\n{directory}")
