"""What the commands share: options, checks before anything is measured, and the file of figures."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contestants import Report
from benchmarks.report import describe_machine
from benchmarks.training.corpus import write_training_work
from benchmarks.training.race import TrainingContestant, run_race
from benchmarks.training.tables import Table, training_figures
from benchmarks.training.work import SIZES, TrainingWork
from saccade.errors import DataError, OutputExists, SaccadeError

show: Report = partial(print, flush=True)


def note(text: str) -> None:
    """Tell a person, on whatever is the standard error now."""
    print(text, file=sys.stderr, flush=True)


def make_parser(description: str | None, *, windows: int) -> argparse.ArgumentParser:
    """With the options of every command."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--windows",
        metavar="N",
        type=at_least(1),
        default=windows,
        help=f"turns of each contestant (default {windows})",
    )
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="also write the figures of every turn to this new file"
    )
    return parser


def make_training_parser(description: str | None) -> argparse.ArgumentParser:
    """With the options of both training benchmarks."""
    parser = make_parser(description, windows=5)
    parser.add_argument(
        "--size", choices=[*SIZES, "all"], default="tiny", help="size of the model; all: one after another"
    )
    parser.add_argument(
        "--seconds", type=at_least(0.01), default=10.0, help="least duration of a turn (default %(default)g)"
    )
    return parser


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Other toolkits."""
    parser.add_argument(
        "--peers", metavar="DIR", type=Path, help="include the toolkits that install.sh of this directory installed"
    )


def at_least(least: float) -> Callable[[str], float]:
    """The type of an option whose value has a lower bound."""

    def number(text: str) -> float:
        value = type(least)(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return value

    return number


def run_command(main: Callable[[], None]) -> None:
    """A user's mistake ends with a message, not with a traceback."""
    try:
        main()
    except SaccadeError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def check_peers(peers: Path | None) -> None:
    if peers is not None and not list(peers.glob("venv/*/bin/python")):
        raise DataError(
            f"{peers} must hold installed toolkits (venv/NAME), but there are none. "
            "Run benchmarks/peers/install.sh, then pass --peers benchmarks/peers."
        )


def check_output(json_file: Path | None) -> None:
    if json_file is not None and json_file.exists():
        raise OutputExists(f"{json_file} exists already. Remove it or name another file; nothing was measured.")


def write_figures(json_file: Path | None, figures: dict[str, Any]) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def measure_training(
    options: argparse.Namespace,
    contestants: Callable[[TrainingWork], list[TrainingContestant]],
    table: Table,
    *,
    epoch: bool = False,
) -> None:
    """Run the race for each size that was asked for, and print its table."""
    check_output(options.json)
    machine = describe_machine("torch")
    show(f"{machine}\n")
    figures: list[dict[str, Any]] = []
    for size in SIZES if options.size == "all" else [options.size]:
        with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
            note(f"{size}: preparing the corpus")
            work = write_training_work(Path(directory), size)
            race = run_race(
                contestants(work), work, windows=options.windows, seconds=options.seconds, epoch=epoch, report=note
            )
            show(f"{table(race)}\n")
            figures.append(training_figures(race))
    write_figures(options.json, {"machine": machine, "sizes": figures})
