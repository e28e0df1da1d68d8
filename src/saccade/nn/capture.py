"""Attention weights on request: `with capture(model) as captured` collects those of every attention layer.

Nothing is kept on modules. Without a capture, a layer pays for one call of `active_capture()` and takes the fused path.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

Kind = Literal["cross", "encoder", "decoder", "image", "memory"]
"""Who looks at what, as in `trace.trace.Kind`."""


class AttentionModule(nn.Module):
    """A layer that attends. Whoever constructs it says what it looks at, so that its weights can be shown."""

    kind: Kind | None = None


class CapturedLayer(NamedTuple):
    """The weights of one attention layer."""

    name: str
    """Its path in the model, such as `decoder.0.cross_attention`."""
    kind: Kind
    """Who looks at what."""
    calls: list[Tensor]
    """One tensor for every time the layer was called."""

    @property
    def weights(self) -> Tensor:
        """Of all calls, one after another: a single one, or one for each decoding step."""
        return torch.cat(self.calls, dim=-2)


class Captured:
    """The weights of each attention layer of a model, one tensor for every time it was called."""

    def __init__(self, modules: Mapping[str, nn.Module], outer: "Captured | None" = None) -> None:
        self._modules = modules
        self._names = {module: name for name, module in modules.items()}
        self._outer = outer
        self.weights: dict[str, list[Tensor]] = {}
        """By the name of the layer."""

    @property
    def layers(self) -> list[CapturedLayer]:
        """The same with the kind that each layer declares."""
        return [CapturedLayer(name, self._kind(name), calls) for name, calls in self.weights.items()]

    def record(self, layer: AttentionModule, weights: Tensor) -> None:
        """Called by a layer that has just attended. The layers of other models are ignored."""
        if layer in self._names:
            self.weights.setdefault(self._names[layer], []).append(weights.detach())
        if self._outer is not None:
            self._outer.record(layer, weights)

    def _kind(self, name: str) -> Kind:
        module = self._modules[name]
        assert isinstance(module, AttentionModule)
        assert module.kind is not None, f"{name or 'this layer'} must declare its kind where it is constructed"
        return module.kind


_active: ContextVar[Captured | None] = ContextVar("active_capture", default=None)


def active_capture() -> Captured | None:
    """The capture under way in this thread or task, or None."""
    return _active.get()


@contextmanager
def capture(model: nn.Module) -> Iterator[Captured]:
    """Collect the weights of all attention layers of this model. An outer capture still gets its own."""
    captured = Captured(dict(model.named_modules()), outer=active_capture())
    token = _active.set(captured)
    try:
        yield captured
    finally:
        _active.reset(token)
