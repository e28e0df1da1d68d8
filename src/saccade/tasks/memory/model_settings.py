"""The settings of models that answer in episodes: the Neural Turing Machine, and the LSTM it is held against."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class TuringSettings:
    """The Neural Turing Machine of Graves et al. 2014. The defaults are the paper's for copying (Table 1)."""

    kind: Literal["turing"] = "turing"
    """The kind of model."""
    controller: Literal["feed-forward", "lstm"] = "feed-forward"
    """What tells the heads where to look: a layer that remembers nothing by itself, or an LSTM."""
    d_controller: int = 100
    """Size of the controller's states."""
    rows: int = 128
    """Rows of the memory."""
    d_row: int = 20
    """Numbers of a row."""
    read_heads: int = 1
    """Heads that read."""
    write_heads: int = 1
    """Heads that write."""
    reach: int = 1
    """The farthest that a head can shift in a step, to either side; 0 for no shifts."""
    interpolates: bool = True
    """Heads can stay where they were, whatever stands there (eq. 7); else they find their place by content anew."""
    sharpens: bool = True
    """Heads can sharpen what shifts have blurred (eq. 9)."""

    def __post_init__(self) -> None:
        names = ("d_controller", "rows", "d_row", "read_heads", "write_heads")
        problems = [
            f"{name} must be at least 1, not {getattr(self, name)}" for name in names if getattr(self, name) < 1
        ]
        if self.reach < 0:
            problems.append(f"reach must be at least 0, not {self.reach}")
        if self.rows >= 1 and 2 * self.reach + 1 > self.rows:
            most = (self.rows - 1) // 2
            problems.append(f"reach must leave shifts apart, at most {most} on {self.rows} rows, but is {self.reach}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class LstmSettings:
    """A network of long short-term memory, read step by step. The defaults are the paper's (Table 3)."""

    kind: Literal["lstm"] = "lstm"
    """The kind of model."""
    layers: int = 3
    """Layers, one upon another."""
    d_model: int = 256
    """Size of the states."""

    def __post_init__(self) -> None:
        names = ("layers", "d_model")
        if problems := [
            f"{name} must be at least 1, not {getattr(self, name)}" for name in names if getattr(self, name) < 1
        ]:
            raise ValueError("; ".join(problems))
