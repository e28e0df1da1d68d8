"""Settings of the convolutional network with self-attention. No torch here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureMapSettings:
    """A feature map of cells that see 7 pixels each, self-attention over it (SAGAN), and layers on top."""

    kind: Literal["feature-map"] = "feature-map"
    """The kind of model."""
    attends: bool = True
    """Has self-attention over the cells of the map."""
    layers: int = 2
    """Convolutions on top of it."""
    kernel: Literal[1, 3] = 1
    """How many cells these see at once, in each direction; with 1, a cell learns of others by attention alone."""
    d_model: int = 32
    """Channels of the map."""

    def __post_init__(self) -> None:
        problems = []
        if self.layers < 1:
            problems.append(f"layers must be at least 1, not {self.layers}")
        if self.d_model < 1:
            problems.append(f"d_model must be at least 1, not {self.d_model}")
        if problems:
            raise ValueError("; ".join(problems))
