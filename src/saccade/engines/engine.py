"""What runs a model: the same questions to every engine, whatever it is made of. No torch here."""

import math
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from saccade.search.constraints import FREE, Constraints
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings
from saccade.trace.trace import KINDS, Kind, Layer, Matrix

Ids = Sequence[int]
Sentences = Sequence[Ids]
Constrained = Sequence[Constraints]
"""What the translations of each source must satisfy; none at all if every one is free."""
Advanced = Callable[[int], None]
EngineName = Literal["auto", "ctranslate2", "torch"]
Compute = Literal["float32", "int8"]


class Traced(NamedTuple):
    """What a model does while it is made to write a given target."""

    token_log_probs: tuple[float, ...]
    """Of each target token, the end of sentence included."""
    layers: tuple[Layer, ...]
    """What each of them was attending to, and the source tokens before; without padding."""

    def first(self, count: int) -> "Traced":
        """The same of the first so many target tokens."""
        layers = (Layer(layer.name, layer.kind, cut(layer.weights, layer.kind, target=count)) for layer in self.layers)
        return Traced(self.token_log_probs[:count], tuple(layers))


def quiet(_: int) -> None:
    """The progress that nobody watches."""


@runtime_checkable  # so that the shape checks of the tests can look at it
class Engine(Protocol):
    """A model ready to be asked. What an engine cannot do is refused, with the reason and the alternative."""

    def translate(
        self, sources: Sentences, settings: SearchSettings, *, constraints: Constrained = (), advanced: Advanced = quiet
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, the best first. `advanced` is called with how many more are done."""

    def stream(
        self, source: Ids, settings: SearchSettings, *, constraints: Constraints = FREE
    ) -> Generator[int, None, Hypothesis]:
        """The tokens of the one translation as they are written, and then, as the generator's value, all of it.

        Of greedy search and of sampling only: a beam does not know its first token before it knows its last.
        """

    def score(self, sources: Sentences, targets: Sentences) -> list[float]:
        """log p(target | source) of each pair, the end of sentence included."""
        return [math.fsum(log_probs) for log_probs in self.token_log_probs(sources, targets)]

    def token_log_probs(self, sources: Sentences, targets: Sentences) -> list[tuple[float, ...]]:
        """The parts of the same: of each target token, given those before it, and of the end of sentence."""

    def trace(
        self, sources: Sentences, targets: Sentences, *, kinds: Collection[Kind] = KINDS, advanced: Advanced = quiet
    ) -> list[Traced]:
        """How likely each token of each target was, and what was attended to for it: a forced decoding."""

    def need_constraints(self, what: str) -> None:
        """Refuse constraints, named by `what`, such as "glossary", that cannot be satisfied."""

    def need_attention(self) -> None:
        """Refuse to be asked for weights if there are none to be had."""


def cut(weights: Matrix, kind: Kind, source: int | None = None, target: int | None = None) -> Matrix:
    """The weights of the first so many source tokens and target tokens."""
    looks, looked_at = {"cross": (target, source), "encoder": (source, source), "decoder": (target, target)}[kind]
    return weights[:, :looks, :looked_at]
