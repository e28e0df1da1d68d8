"""Where commands write: results to stdout, everything else to stderr."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)
INDENT = 10
MARGIN = 3
"""Columns that a bar leaves free: a Ctrl-C is echoed there as ^C, and must not wrap."""


def print_result(text: str) -> None:
    """A result, for a person or for the next program."""
    print(text)


def note(text: str) -> None:
    """A remark beside the results."""
    stderr.print(text, markup=False, soft_wrap=True)


def note_indented(text: str, mark: str = "") -> None:
    """A remark that is set off to the right, after `mark`, with all its lines where a person is watching."""
    width = max(20, stderr.width - INDENT) if stderr.is_terminal else 10 * len(text) + 1
    lines = [line.plain.rstrip() for line in Text(text).wrap(stderr, width)]
    note(f"{mark:>{INDENT}}" + f"\n{'':{INDENT}}".join(lines))


class Bar(Progress):
    """A line for each task: description, count, bar, its field `figures` as far as there is room, and times."""

    def __init__(self, unit: str | None, *, disable: bool) -> None:
        self._num_figures, self._stderr = 0, stderr
        is_narrow = stderr.width < 60
        # By itself, rich would send what is printed meanwhile to stderr, too.
        super().__init__(
            TextColumn("{task.description}"),
            _TaskColumn(lambda task: _count(task, unit)),
            BarColumn(bar_width=8 if is_narrow else 16 if stderr.width < 100 else 40),
            _TaskColumn(lambda task: "  ".join(task.fields.get("figures", ())[: self._num_figures])),
            *(() if is_narrow else (TimeElapsedColumn(),)),
            TimeRemainingColumn(),
            console=stderr,
            transient=True,
            redirect_stdout=False,
            disable=disable,
        )

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """As many figures as the terminal is wide enough for."""
        listed = list(tasks)
        wide = self._stderr.options.update(max_width=10_000)
        for number in range(max((len(task.fields.get("figures", ())) for task in listed), default=0), -1, -1):
            self._num_figures = number
            lines = super().make_tasks_table(listed)
            if self._stderr.measure(lines, options=wide).maximum <= self._stderr.width - MARGIN:
                break
        return lines


@contextmanager
def bar(unit: str | None, *, hidden: bool = False) -> Iterator[Bar]:
    """A progress bar that counts in this unit, or in percent if there is none; only where a person is watching."""
    with Bar(unit, disable=hidden or not stderr.is_terminal) as progress:
        yield progress


class _TaskColumn(ProgressColumn):
    """A text made of the task."""

    def __init__(self, text: Callable[[Task], str]) -> None:
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text(task), no_wrap=True)


def _count(task: Task, unit: str | None) -> str:
    if unit is None:
        return "" if task.total is None else f"{task.percentage:3.0f}%"
    total = "" if task.total is None else f"/{task.total:,.0f}"
    return f"{task.completed:,.0f}{total} {unit}".rstrip()


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
