"""Settings of the convolutional network with self-attention. No torch here."""

from dataclasses import dataclass
from typing import Literal

from saccade.fields import Checked, Layers, Size


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureMapSettings(Checked):
    """A feature map of cells that see 7 pixels each, self-attention over it (SAGAN), and layers on top."""

    kind: Literal["feature-map"] = "feature-map"
    """The kind of model."""
    attends: bool = True
    """Has self-attention over the cells of the map."""
    layers: Layers = 2
    """Convolutions on top of it."""
    kernel: Literal[1, 3] = 1
    """How many cells these see at once, in each direction; with 1, a cell learns of others by attention alone."""
    d_model: Size = 32
    """Channels of the map."""
