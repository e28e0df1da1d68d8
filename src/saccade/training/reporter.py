"""Who watches a training: override the methods of `Reporter` that you want to hear of."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from saccade.errors import CheckpointError
    from saccade.training.checkpoint import Progress
    from saccade.training.task import Validation


class Reporter:
    """Watches preparation and training in silence; a progress display, a log or a test says more."""

    def preparing(self, stage: str, done: int, total: int | None, unit: str) -> None:
        """`done` of `total` have passed a stage, such as cleaning; first, what an interrupted one had done."""

    def prepared(self, summary: str, rows: "list[tuple[str, str, str]]") -> None:
        """What the data amounts to, in a sentence and in a table of counts with examples."""

    def started(self, model: "nn.Module", progress: "Progress", damaged: "list[CheckpointError]") -> None:
        """Training starts or resumes here; these checkpoints were skipped."""

    def updated(self, progress: "Progress", loss: float, rate: float) -> None:
        """An update was made, with this loss per target and this learning rate."""

    def skipped(self, progress: "Progress", places: list[str]) -> None:
        """An update was skipped, as its loss or gradients are not finite; the places say where its examples are."""

    def validated(self, validation: "Validation", is_best: bool) -> None:
        """The model was validated."""

    def averaged(self, validation: "Validation", num_checkpoints: int, is_best: bool) -> None:
        """The average of the last checkpoints was validated."""
