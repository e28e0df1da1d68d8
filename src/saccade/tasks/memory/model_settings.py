"""The settings of models that answer in episodes: the Neural Turing Machine, and the LSTM it is held against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from saccade.fields import Checked, Layers, NotNegative, Size


@dataclass(frozen=True, kw_only=True, slots=True)
class TuringSettings(Checked):
    """The Neural Turing Machine of Graves et al. 2014. The defaults are the paper's for copying (Table 1)."""

    kind: Literal["turing"] = "turing"
    """The kind of model."""
    controller: Literal["feed-forward", "lstm"] = "feed-forward"
    """What tells the heads where to look: a layer that remembers nothing by itself, or an LSTM."""
    d_controller: Size = 100
    """Size of the controller's states."""
    rows: Size = 128
    """Rows of the memory."""
    d_row: Size = 20
    """Numbers of a row."""
    read_heads: Size = 1
    """Heads that read."""
    write_heads: Size = 1
    """Heads that write."""
    reach: NotNegative = 1
    """The farthest that a head can shift in a step, to either side; 0 for no shifts."""
    interpolates: bool = True
    """Heads can stay where they were, whatever stands there (eq. 7); else they find their place by content anew."""
    sharpens: bool = True
    """Heads can sharpen what shifts have blurred (eq. 9)."""

    def conflicts(self) -> Iterator[str]:
        if 2 * self.reach + 1 > self.rows:
            most = (self.rows - 1) // 2
            yield f"reach must leave shifts apart, at most {most} on {self.rows} rows, but is {self.reach}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LstmSettings(Checked):
    """A network of long short-term memory, read step by step. The defaults are the paper's (Table 3)."""

    kind: Literal["lstm"] = "lstm"
    """The kind of model."""
    layers: Layers = 3
    """Layers, one upon another."""
    d_model: Size = 256
    """Size of the states."""
