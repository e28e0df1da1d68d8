"""Local attention (Luong et al. 2015, §3.2): only keys within D of a centre may be attended.

A window is a mask before the softmax and a gain after it. They are not normalised again, as in the paper.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from saccade.nn.axes import Mask, Query


class Window(NamedTuple):
    """Which keys each query may attend to, and by how much their weights are lowered."""

    mask: Bool[Tensor, "#batch query key"]
    gain: Float[Tensor, "#batch query key"] | None


@runtime_checkable
class Windows(Protocol):
    """Says for every query where its window lies."""

    def __call__(self, query: Query, mask: Mask, start: int) -> Window:
        """`mask` tells which keys are real; the first query stands at position `start` of the target."""
        ...


class LocalMonotonic(nn.Module):
    """local-m: the centre of target position t is source position t. In the paper without a gain.

    A target that runs further than D beyond its source looks at nothing: zero weights, zero context.
    """

    def __init__(self, reach: int, *, gaussian: bool = False) -> None:
        super().__init__()
        self.reach = reach
        self.gaussian = gaussian

    def forward(self, query: Query, mask: Mask, start: int) -> Window:
        centre = torch.arange(start, start + query.shape[1], device=query.device, dtype=query.dtype)
        return _window(centre[None], mask.shape[1], self.reach, self.gaussian)


class LocalPredictive(nn.Module):
    """local-p: the centre is predicted, p = (S - 1) · σ(vᵀtanh(Wq)) (eq. 9), and weights fall off around it (eq. 10).

    Positions are counted from 0, so that the last one is S - 1, as in the authors' code; the paper's text has S · σ(…).
    """

    def __init__(self, d_query: int, d_hidden: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.of_query = nn.Linear(d_query, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def centre(self, query: Query, mask: Mask) -> Float[Tensor, "batch query"]:
        """Where in its source each query wants to look."""
        last = (mask.sum(dim=1) - 1).clamp(min=0)
        share: Tensor = self.v(self.of_query(query).tanh()).sigmoid()[..., 0]
        return last[:, None] * share

    def forward(self, query: Query, mask: Mask, start: int) -> Window:
        return _window(self.centre(query, mask), mask.shape[1], self.reach, gaussian=True)


def _window(centre: Float[Tensor, "#batch query"], keys: int, reach: int, gaussian: bool) -> Window:
    """exp(-(s - p)² / 2σ²) with σ = D/2 (eq. 10)."""
    distance = torch.arange(keys, device=centre.device, dtype=centre.dtype) - centre[..., None]
    gain = (-(distance**2) / (2 * (reach / 2) ** 2)).exp() if gaussian else None
    return Window(distance.abs() <= reach, gain)
