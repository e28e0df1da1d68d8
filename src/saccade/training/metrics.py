"""The figures of a run, a line of JSON each in metrics.jsonl, and as TensorBoard events if asked for."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from saccade.files import sync
from saccade.training.checkpoint import Progress


class Metrics:
    """Appends to a run's metrics; a resumed run first forgets what it will do again."""

    def __init__(self, directory: Path, progress: Progress, *, tensorboard: bool) -> None:
        self._path = directory / "metrics.jsonl"
        self._forget(progress)
        self._events = None
        if tensorboard:
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(str(directory / "tensorboard"), purge_step=progress.update + 1)

    def log(self, update: int, *, places: Sequence[str] = (), **figures: int | float) -> None:
        """Note figures by name, as they stand after this update, and lines of the corpus that they are about."""
        about = {"places": places} if places else {}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"update": update, **figures, **about}) + "\n")
        if self._events is not None:
            for name, figure in figures.items():
                self._events.add_scalar(name, figure, update)

    def sync(self) -> None:
        """Make sure that all lines are on the disk: after a checkpoint, those before it are not written again."""
        if self._path.exists():
            sync(self._path)

    def close(self) -> None:
        """Write out what is still on its way."""
        if self._events is not None:
            self._events.close()

    def _forget(self, progress: Progress) -> None:
        """Cut off the lines of what comes after `progress`, and a last one that was cut short."""
        if not self._path.is_file():
            return
        size = 0
        for line in self._path.read_bytes().splitlines(keepends=True):
            if not _is_of(progress, line):
                os.truncate(self._path, size)
                return
            size += len(line)


def _is_of(progress: Progress, line: bytes) -> bool:
    """Whether a line is whole and tells of something that `progress` includes."""
    try:
        figures = json.loads(line)
        done = progress.validated if "valid_loss" in figures else progress.update
        return line.endswith(b"\n") and bool(figures["update"] <= done)
    except (ValueError, TypeError, KeyError):
        return False
