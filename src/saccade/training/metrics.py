"""The figures of a run, a line of JSON each in metrics.jsonl, and as TensorBoard events if asked for."""

import json
from collections.abc import Sequence
from pathlib import Path


class Metrics:
    """Appends to a run's metrics; a resumed run first forgets what it will do again."""

    def __init__(self, directory: Path, *, after: int, tensorboard: bool) -> None:
        self._path = directory / "metrics.jsonl"
        self._forget(after)
        self._events = None
        if tensorboard:
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(str(directory / "tensorboard"), purge_step=after + 1)

    def log(self, update: int, *, places: Sequence[str] = (), **figures: int | float) -> None:
        """Note figures by name, as they stand after this update, and lines of the corpus that they are about."""
        about = {"places": places} if places else {}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"update": update, **figures, **about}) + "\n")
        if self._events is not None:
            for name, figure in figures.items():
                self._events.add_scalar(name, figure, update)

    def close(self) -> None:
        """Write out what is still on its way."""
        if self._events is not None:
            self._events.close()

    def _forget(self, after: int) -> None:
        """Drop the lines of later updates, and a last one that was cut short."""
        if self._path.is_file():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["update"] <= after]
            draft = self._path.with_name(f".{self._path.name}")
            draft.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
            draft.replace(self._path)
