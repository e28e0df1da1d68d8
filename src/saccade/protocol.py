"""What a search needs of a model (`Decodes`) and what training needs of it (`Learns`); no model class is known here."""

from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

Memory = TypeVar("Memory", contravariant=True)
State = TypeVar("State")
Pairs = TypeVar("Pairs", contravariant=True)


@runtime_checkable  # so that the shape checks of the tests can look at it
class Decodes(Protocol[Memory, State]):
    """A model that writes one token at a time: all that a search may know of it."""

    def start(self, memory: Memory) -> State:
        """The state before the first token, one row per sentence of the memory."""
        ...

    def step(self, last: Int[Tensor, " rows"], state: State) -> tuple[Float[Tensor, "rows vocab"], State]:
        """Read the last token of every row and say what may follow: the log-probability of every token."""
        ...

    def pick(self, state: State, rows: Int[Tensor, " picked"]) -> State:
        """The state of these rows, in this order: beams reordered, finished sentences dropped."""
        ...


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


@runtime_checkable
class Learns(Protocol[Pairs]):
    """A model that is trained on known targets, all positions at once (teacher forcing)."""

    def __call__(self, batch: Pairs) -> Float[Tensor, "batch target d_model"]:
        """The decoder's last hidden states."""
        ...

    def learn(self, batch: Pairs) -> Learned:
        """The same, with the choices that were made by chance."""
        ...

    @property
    def output_weight(self) -> Float[Tensor, "vocab d_model"]:
        """What turns hidden states into logits."""
        ...

    def logits(self, hidden: Float[Tensor, "*positions d_model"]) -> Float[Tensor, "*positions vocab"]:
        """Unnormalised scores of every token of the target vocabulary."""
        ...
