"""Listening to attention: `with capture(model) as heard` gives every weight by the name of its layer.

Nothing is kept on modules. While nobody listens, a layer pays for one look at `listener()` and takes the fused path.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn


class Heard:
    """The weights of each attention layer, one tensor for every time it was called."""

    def __init__(self, names: Mapping[nn.Module, str], outer: "Heard | None" = None) -> None:
        self._names = names
        self._outer = outer
        self.weights: dict[str, list[Tensor]] = {}

    def hear(self, layer: nn.Module, weights: Tensor) -> None:
        """Called by a layer that has just attended. A layer of another model is not ours to note."""
        if layer in self._names:
            self.weights.setdefault(self._names[layer], []).append(weights.detach())
        if self._outer is not None:
            self._outer.hear(layer, weights)


_listener: ContextVar[Heard | None] = ContextVar("listener", default=None)


def listener() -> Heard | None:
    """Whoever listens in this thread or task, or None."""
    return _listener.get()


@contextmanager
def capture(model: nn.Module) -> Iterator[Heard]:
    """Listen to all attention of this model, named by its path: `decoder.0.cross_attention`.

    Whoever listens already goes on hearing what is theirs.
    """
    heard = Heard({module: name for name, module in model.named_modules()}, outer=listener())
    token = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(token)
