"""The settings of pointer networks. No torch here: reading a recipe needs none."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from saccade.fields import Checked, Layers, Size


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerSettings(Checked):
    """The pointer network of Vinyals et al. 2015, and the index softmax that it is held against."""

    kind: Literal["pointer"] = "pointer"
    """The kind of model."""
    output: Literal["pointer", "index"] = "pointer"
    """How an element is named: pointer scores the elements themselves, however many there are; index has a fixed output
    for each position and reads the elements by attention."""
    choices: Literal["free", "once", "all"] = "once"
    """What may be pointed at: free, any element at any step (the paper); once, none that was pointed at before; all,
    nor the stop before every element was."""
    num_positions: Size = 50
    """output = "index": elements of the largest set; larger ones are refused."""
    cell: Literal["lstm", "gru", "rnn"] = "lstm"
    """The recurrent cell."""
    layers: Layers = 1
    """Layers of the encoder, and of the decoder."""
    d_model: Size = 128
    """Size of all states."""
    bidirectional: bool = False
    """The encoder reads in both directions, with half of d_model each."""

    def conflicts(self) -> Iterator[str]:
        if self.bidirectional and self.d_model % 2:
            yield f"d_model must be even for a bidirectional encoder, not {self.d_model}"
