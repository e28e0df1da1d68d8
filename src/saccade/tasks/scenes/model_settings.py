"""Settings of the model that answers questions about scenes. No torch here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class CoAttentionSettings:
    """Co-attention (Lu et al. 2016), and what it is held against."""

    kind: Literal["coattention"] = "coattention"
    """The kind of model."""
    reads: Literal["parallel", "alternating", "mean", "image", "question"] = "parallel"
    """parallel and alternating: image and question lead each other, at once or in turn. mean: both by their mean. image
    and question: that side alone, by attention that asks the same of all."""
    d_model: int = 64
    """Size of the vectors of cells and words."""

    def __post_init__(self) -> None:
        if self.d_model < 1:
            raise ValueError(f"d_model must be at least 1, not {self.d_model}")

    @property
    def attends(self) -> bool:
        """Whether there are weights to be looked at."""
        return self.reads != "mean"
