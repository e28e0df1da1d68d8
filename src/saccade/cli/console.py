"""Where commands write: results to stdout, everything else to stderr."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)


def print_result(text: str) -> None:
    """A result, for a person or for the next program."""
    print(text)


def note(text: str) -> None:
    """A remark beside the results."""
    stderr.print(text, markup=False, soft_wrap=True)


@contextmanager
def bar(unit: str, *, hidden: bool = False) -> Iterator[Progress]:
    """A progress bar that shows only where a person is watching."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    disable = hidden or not stderr.is_terminal
    # By itself, rich would send what is printed meanwhile to stderr, too.
    with Progress(*columns, console=stderr, transient=True, redirect_stdout=False, disable=disable) as progress:
        yield progress


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A table for people; numbers stand to the right."""
    made = Table(title=title, title_justify="left", title_style="bold", show_edge=False)
    listed = [[str(cell) for cell in row] for row in rows]
    for index, name in enumerate(columns):
        numeric = bool(listed) and all(row[index].replace(",", "").replace(".", "").isdigit() for row in listed)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        made.add_row(*row)
    return made
