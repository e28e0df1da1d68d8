"""The settings of pointer networks. No torch here: reading a recipe needs none."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerSettings:
    """The pointer network of Vinyals et al. 2015, and the index softmax that it is held against."""

    kind: Literal["pointer"] = "pointer"
    """The kind of model."""
    output: Literal["pointer", "index"] = "pointer"
    """How an element is named: pointer scores the elements themselves, however many there are; index has a fixed output
    for each position and reads the elements by attention."""
    choices: Literal["free", "once", "all"] = "once"
    """What may be pointed at: free, any element at any step (the paper); once, none that was pointed at before; all,
    nor the stop before every element was."""
    num_positions: int = 50
    """output = "index": elements of the largest set; larger ones are refused."""
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """The recurrent cell."""
    layers: int = 1
    """Layers of the encoder, and of the decoder."""
    d_model: int = 128
    """Size of all states."""
    bidirectional: bool = False
    """The encoder reads in both directions, with half of d_model each."""

    def __post_init__(self) -> None:
        small = [name for name in ("num_positions", "layers", "d_model") if getattr(self, name) < 1]
        problems = [f"{name} must be at least 1, not {getattr(self, name)}" for name in small]
        if self.bidirectional and self.d_model % 2:
            problems.append(f"d_model must be even for a bidirectional encoder, not {self.d_model}")
        if problems:
            raise ValueError("; ".join(problems))
