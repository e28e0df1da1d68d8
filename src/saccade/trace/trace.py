"""What a model attended to while it wrote: a matrix of weights for each layer and head."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import SaccadeError

Matrix = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class AttentionTrace:
    """Checked when it is made: every layer has heads × target tokens × source tokens of weights."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Mapping[str, Matrix]
    """By layer, such as `decoder.3.cross_attention`; kept in the order of the layers' numbers."""

    def __post_init__(self) -> None:
        if not self.weights:
            raise ValueError("A trace needs the weights of at least one layer, but got none.")
        for name, layer in self.weights.items():
            self._check(name, layer)
        ordered = {name: self.weights[name] for name in sorted(self.weights, key=_by_number)}
        object.__setattr__(self, "weights", ordered)

    def _check(self, name: str, layer: Matrix) -> None:
        tokens = (len(self.target), len(self.source))
        if layer.ndim != 3 or layer.shape[1:] != tokens or 0 in layer.shape:
            raise ValueError(
                f"The weights of {name} must be heads × target tokens × source tokens, "
                f"here some heads × {tokens[0]} × {tokens[1]}, but their shape is {layer.shape}."
            )
        if not (np.isfinite(layer).all() and (layer >= 0).all()):
            raise ValueError(f"The weights of {name} must be finite and not negative.")

    @property
    def names(self) -> tuple[str, ...]:
        """The layers, first to last."""
        return tuple(self.weights)

    def matrix(self, name: str | None = None, head: int | None = None) -> Matrix:
        """Target tokens × source tokens: of one layer and head, or the mean over those that are not named."""
        layers = self._layers(name)
        heads = min(map(len, layers))
        if head is not None and not 0 <= head < heads:
            raise SaccadeError(f"There are {heads} heads, counted from 0, but head {head} was asked for.")
        chosen = [layer.mean(axis=0) if head is None else layer[head] for layer in layers]
        return np.asarray(np.mean(chosen, axis=0), dtype=float)

    def caption(self, name: str | None = None, head: int | None = None) -> str:
        """What `matrix` shows, in words; layers and heads are counted from 1, as people do."""
        heads = len(self._layers(name)[0])
        layer = _one_of("layer", len(self.names), None if name is None else self.names.index(name))
        return f"{layer}, {_one_of('head', heads, head)}"

    def _layers(self, name: str | None) -> list[Matrix]:
        if name is None:
            return list(self.weights.values())
        if name not in self.weights:
            raise SaccadeError(f"There is no layer {name} in this trace; it has {', '.join(self.names)}.")
        return [self.weights[name]]


def _one_of(what: str, count: int, chosen: int | None) -> str:
    return f"mean of {count} {what}s" if chosen is None and count > 1 else f"{what} {(chosen or 0) + 1} of {count}"


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sorts layer 2 before layer 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
