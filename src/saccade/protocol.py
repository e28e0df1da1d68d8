"""What a search needs of a model (`Decodes`) and what a model gives to training (`Learned`); knows no model class."""

from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

Memory = TypeVar("Memory", contravariant=True)
State = TypeVar("State")
LogProbs = Float[Tensor, "rows vocab"]


@runtime_checkable  # so that the shape checks of the tests can look at it
class Decodes(Protocol[Memory, State]):
    """A model that writes one token at a time: all that a search may know of it."""

    def start(self, memory: Memory) -> State:
        """The state before the first token, one row per sentence of the memory."""

    def step(self, last: Int[Tensor, " rows"], state: State) -> tuple[LogProbs, State]:
        """Read the last token of every row and say what may follow: the log-probability of every token."""

    def pick(self, state: State, rows: Int[Tensor, " picked"]) -> State:
        """The state of these rows, in this order: beams reordered, finished sentences dropped."""


class Learned(NamedTuple):
    """What a model makes of a batch in training."""

    hidden: Float[Tensor, "batch target d_model"]
    """The decoder's last states."""
    log_prob: Float[Tensor, "batch target"] | None = None
    """Of what was chosen by chance on the way, such as the position that hard attention looks at."""
    entropy: Float[Tensor, "batch target"] | None = None
    """Of the distributions these choices were drawn from."""
    weights: Float[Tensor, "batch target key"] | None = None
    """Where the decoder looked, if a loss is to bear on that."""
