"""What is shown while a model is fetched: what it is, its licence, and a bar of its bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import saccade
from saccade.cli.console import Bar, bar, note
from saccade.locate import is_name, locate_model

MEGABYTE = 1e6


class DownloadDisplay(saccade.DownloadReporter):
    """Says what is fetched, and moves a bar."""

    def __init__(self, progress: Bar) -> None:
        self.progress = progress

    def found(self, name: str, commit: str, licence: str, size: int) -> None:
        note(f"Fetching {name} ({size / MEGABYTE:,.1f} MB, commit {commit[:12]}). Licence: {licence}")
        self.task = self.progress.add_task("fetching", total=size)

    def received(self, done: int, size: int) -> None:
        figures = (f"{done / MEGABYTE:,.1f} of {size / MEGABYTE:,.1f} MB",)
        self.progress.update(self.task, completed=done, figures=figures)

    def noted(self, remark: str) -> None:
        note(remark)


@contextmanager
def shown_download() -> Iterator[DownloadDisplay]:
    """A display for one download."""
    with bar(None) as progress:
        yield DownloadDisplay(progress)


def locate(model: Path) -> Path:
    """Where a model is; if it must be fetched first, that is shown."""
    if not is_name(model):
        return model
    with shown_download() as display:
        return locate_model(model, display)


def locate_given(model: Path | list[Path] | None) -> Path | list[Path] | None:
    """The same of what an option was given."""
    if isinstance(model, list):
        return [locate(member) for member in model]
    return None if model is None else locate(model)
