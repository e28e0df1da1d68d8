"""What a model attended to while it read and wrote: weights of each layer and head, and the tokens they lie between."""

import re
import reprlib
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.errors import SaccadeError

Matrix = NDArray[np.floating[Any]]
Span = tuple[int, int]

Kind = Literal["cross", "encoder", "decoder", "image", "memory"]
"""Who looks at what: cross, the target at the source; encoder, the source at itself; decoder, the target at itself and
what came before; image, the target at the cells of an image; memory, the steps of a Turing machine at its memory."""
KINDS: tuple[Kind, ...] = get_args(Kind)
BEGIN = "<s>"
"""What a decoder reads before there is anything else to read."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in tokens; specials such as `</s>` stand among them."""

    tokens: tuple[str, ...]
    text: str = ""
    """The text that the tokens spell; empty where there is none, as for the points of a pointer network."""
    spans: tuple[Span, ...] | None = None
    """The characters of `text` that each token stands for; those of a special are none (start = end)."""

    def __post_init__(self) -> None:
        if self.spans is not None and len(self.spans) != len(self.tokens):
            raise ValueError(f"Every token has one span, but {len(self.tokens)} tokens have {len(self.spans)} spans.")

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that was attended to in cells, row by row."""

    rows: int
    columns: int
    data: str = ""
    """The image itself as a `data:` address, `data:image/png;base64,…`; empty where only the grid is known."""
    form: float | None = None
    """Its width by its height; None where it is not known: that of the grid then."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The weights of one layer."""

    name: str
    """Its path in the model, such as `decoder.3.cross_attention`."""
    kind: Kind
    weights: Matrix
    """Heads × who looks × what is looked at."""

    @property
    def num_heads(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"<Layer {self.name}, {self.kind}: {' × '.join(map(str, self.weights.shape))}>"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttentionTrace:
    """Checked when it is made: the weights of every layer fit the tokens that they lie between."""

    source: Tokens
    """Empty where the source is an image."""
    target: Tokens
    layers: tuple[Layer, ...]
    """By kind, and of each kind first to last."""
    model: str = ""
    """The name of the model."""
    score: float | None = None
    """What ranked this hypothesis in the search."""
    log_prob: float | None = None
    token_log_probs: tuple[float, ...] | None = None
    """Of each target token."""
    image: Picture | None = None

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("A trace needs the weights of at least one layer, but got none.")
        for layer in self.layers:
            self._check(layer)
        if self.token_log_probs is not None and len(self.token_log_probs) != len(self.target):
            raise ValueError(f"{len(self.target)} target tokens have {len(self.token_log_probs)} log-probabilities.")
        ordered = sorted(self.layers, key=lambda layer: (KINDS.index(layer.kind), _by_number(layer.name)))
        object.__setattr__(self, "layers", tuple(ordered))

    def _check(self, layer: Layer) -> None:
        shape, wanted = layer.weights.shape, self._sizes(layer.kind)
        fits = len(shape) == 3 and 0 not in shape
        if not fits or any(size not in (None, found) for size, found in zip(wanted, shape[1:], strict=True)):
            sizes = " × ".join("some" if size is None else str(size) for size in (None, *wanted))
            raise ValueError(
                f"The weights of {layer.name} must be heads × who looks × what is looked at, here {sizes}, "
                f"but their shape is {shape}."
            )
        if not (np.isfinite(layer.weights).all() and (layer.weights >= 0).all()):
            raise ValueError(f"The weights of {layer.name} must be finite and not negative.")

    def _sizes(self, kind: Kind) -> tuple[int | None, int | None]:
        source, target = len(self.source), len(self.target)
        cells = None if self.image is None else self.image.rows * self.image.columns
        return {
            "cross": (target, source),
            "encoder": (source, source),
            "decoder": (target, target),
            "image": (target, cells),
            "memory": (target, None),
        }[kind]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Which kinds of attention it holds."""
        return tuple(dict.fromkeys(layer.kind for layer in self.layers))

    @property
    def main(self) -> Kind:
        """What is shown unless told otherwise: how the target looks at its source, whatever that is."""
        return next((kind for kind in ("cross", "image", "memory") if kind in self.kinds), self.kinds[0])

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of decoder attention: at place n, the token that was read to write target token n."""
        return (BEGIN, *self.target.tokens[:-1])

    def of(self, kind: Kind | None = None) -> tuple[Layer, ...]:
        """The layers of one kind, first to last; `main` unless given."""
        kind = kind or self.main
        if found := tuple(layer for layer in self.layers if layer.kind == kind):
            return found
        raise SaccadeError(f"There is no {kind} attention in this trace; it has {', '.join(self.kinds)}.")

    def matrix(self, layer: int | None = None, head: int | None = None, *, kind: Kind | None = None) -> Matrix:
        """Who looks × what is looked at: of one layer and head, or the mean over those that are not named."""
        layers = self._chosen(layer, kind)
        heads = min(each.num_heads for each in layers)
        if head is not None and not 0 <= head < heads:
            raise SaccadeError(f"There are {heads} heads, counted from 0, but head {head} was asked for.")
        found = [each.weights.mean(axis=0) if head is None else each.weights[head] for each in layers]
        return np.asarray(np.mean(found, axis=0), dtype=float)

    def caption(self, layer: int | None = None, head: int | None = None, *, kind: Kind | None = None) -> str:
        """What `matrix` shows, in words; layers and heads are counted from 1, as people do."""
        first = self._chosen(layer, kind)[0]
        where = "" if (kind or self.main) == self.main else f"{kind} attention, "
        named = layer is not None and first.kind == "memory"
        which = first.name if named else _one_of("layer", len(self.of(kind)), layer)
        return where + f"{which}, {_one_of('head', first.num_heads, head)}"

    def apart(self, layer: int | None = None, *, kind: Kind | None = None) -> tuple[int | None, ...]:
        """The layers to be drawn one by one, or None for a mean: heads that read and heads that write have none."""
        layers = self.of(kind)
        mixed = layer is None and len(layers) > 1 and layers[0].kind == "memory"
        return tuple(range(len(layers))) if mixed else (layer,)

    def __repr__(self) -> str:
        sides = (reprlib.repr(side.text) if side.text else f"{len(side)} tokens" for side in (self.source, self.target))
        held = (f"{kind} ({len(self.of(kind))} layers of {self.of(kind)[0].num_heads} heads)" for kind in self.kinds)
        return f"<AttentionTrace {' → '.join(sides)}: {', '.join(held)}>"

    def _repr_html_(self) -> str:
        """How a notebook shows it: as the interactive page."""
        from saccade.trace.notebook import repr_html  # it knows this module

        return repr_html([self])

    def _chosen(self, layer: int | None, kind: Kind | None) -> tuple[Layer, ...]:
        layers = self.of(kind)
        if layer is None:
            return layers
        if not 0 <= layer < len(layers):
            raise SaccadeError(f"There are {len(layers)} layers, counted from 0, but layer {layer} was asked for.")
        return (layers[layer],)


def proportions(matrix: Matrix, axis: int) -> Matrix:
    """Every number as a share of the sum along this axis; zeros where that is zero."""
    totals = matrix.sum(axis=axis, keepdims=True)
    return np.asarray(np.divide(matrix, totals, out=np.zeros(matrix.shape), where=totals > 0))


def _one_of(what: str, count: int, chosen: int | None) -> str:
    return f"mean of {count} {what}s" if chosen is None and count > 1 else f"{what} {(chosen or 0) + 1} of {count}"


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sorts layer 2 before layer 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
