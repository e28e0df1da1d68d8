"""A model with its loss: all that an update differentiates, in one module, as DDP and FSDP want it."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from saccade.training.adaptation import Whole
from saccade.training.reinforce import Baseline

Loss = Callable[[Any, Any], Tensor | tuple[Tensor, Tensor]]
"""Of a model and a batch: the loss to be differentiated, and the one to be reported if that differs, as sums."""


class Learner(nn.Module):
    """What is trained."""

    def __init__(
        self, model: nn.Module, loss: Loss, baseline: Baseline | None = None, adaptation: Whole | None = None
    ) -> None:
        super().__init__()
        self.model, self.loss, self.baseline = model, loss, baseline
        self.adaptation = adaptation or Whole(model)

    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The loss to be differentiated, and the one to be reported."""
        loss = self.loss(self.model, batch)
        return (loss, loss.detach()) if isinstance(loss, Tensor) else loss
