"""Checkpoints are written by a thread of their own, while the training goes on: it only waits for the copy."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from safetensors import SafetensorError

from saccade.errors import CheckpointError
from saccade.training import checkpoint
from saccade.training.checkpoint import Snapshot
from saccade.training.settings import TrainingSettings


class CheckpointWriter:
    """Writes one checkpoint at a time, then removes those that are not to be kept. At its end all is written."""

    def __init__(self, directory: Path, settings: TrainingSettings) -> None:
        self._directory, self._settings = directory, settings
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._job: Future[None] | None = None

    def start(self, snapshot: Snapshot) -> None:
        """Begin to write a checkpoint, once the one before stands."""
        self.join()
        self._job = self._thread.submit(self._write, snapshot)

    def join(self) -> None:
        """Wait until the last checkpoint stands; raises what kept it from being written."""
        job, self._job = self._job, None
        if job is not None:
            job.result()

    def check(self) -> None:
        """Raise what kept the last checkpoint from being written, if that is known by now."""
        if self._job is not None and self._job.done():
            self.join()

    def __enter__(self) -> "CheckpointWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.join()
        self._thread.shutdown()

    def _write(self, snapshot: Snapshot) -> None:
        try:
            written = checkpoint.write(self._directory, snapshot)
            checkpoint.prune(self._directory, written.path, self._settings)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                f"The checkpoint of update {snapshot.progress.update:,} must be written to {self._directory}, but the "
                f"system refuses: {getattr(error, 'strerror', None) or error}. Those before it are whole. Check that "
                "you may write there and that the disk is not full; then the same command goes on from the last one."
            ) from error
