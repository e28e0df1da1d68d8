"""How well a query and a key fit: the scores of the literature, in three forms.

Dot, scaled dot, general and cosine are one inner product ⟨a(q), b(k)⟩ · scale, and so may take the fused path; the
additive score and the location score are not. A score prepares its keys once per source, however often it is asked.
"""

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize, softplus

from saccade.errors import DataError
from saccade.nn.axes import Keys, KeyStates, Query, QueryByKey
from saccade.nn.layers import init_xavier


@runtime_checkable  # so that the shape checks of the tests can look at it
class Score(Protocol):
    """Anything that scores keys for queries."""

    def keys(self, states: KeyStates) -> Keys:
        """The states as keys: all that does not depend on the query, done once."""
        ...

    def __call__(self, query: Query, keys: Keys) -> QueryByKey:
        """One number for every query and key; higher = fits better."""
        ...


class InnerProduct(nn.Module):
    """⟨a(q), b(k)⟩ · scale, with any two maps into the same space."""

    def __init__(
        self,
        query_map: Callable[[Tensor], Tensor] | None = None,
        key_map: Callable[[Tensor], Tensor] | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__()
        self.query_map = query_map or nn.Identity()
        self.key_map = key_map or nn.Identity()
        self.scale = scale

    def keys(self, states: KeyStates) -> Keys:
        return self.key_map(states)

    def queries(self, query: Query) -> Float[Tensor, "batch query d_key"]:
        return self.query_map(query)

    def forward(self, query: Query, keys: Keys) -> QueryByKey:
        return self.queries(query) @ keys.mT * self.scale


def dot() -> InnerProduct:
    """qᵀk (Luong et al. 2015, §3.1). Query and key must have the same size."""
    return InnerProduct()


def scaled_dot(d_key: int) -> InnerProduct:
    """qᵀk/√d_k (Vaswani et al. 2017, eq. 1): large sizes do not saturate the softmax."""
    return InnerProduct(scale=1 / math.sqrt(d_key))


def general(d_query: int, d_key: int) -> InnerProduct:
    """qᵀWk (Luong et al. 2015, §3.1): sizes may differ. W stands on the keys' side, so it is applied once a source."""
    bilinear = nn.Linear(d_key, d_query, bias=False)
    init_xavier(bilinear)
    return InnerProduct(key_map=bilinear)


class Cosine(InnerProduct):
    """β cos(q, k), content-based addressing (Graves et al. 2014, eq. 5–6), with a sharpness β > 0 that is learned."""

    def __init__(self, sharpness: float = 10.0) -> None:
        super().__init__(key_map=unit)
        self.raw_sharpness = nn.Parameter(torch.tensor([sharpness + math.log(-math.expm1(-sharpness))]))

    @property
    def sharpness(self) -> Float[Tensor, "1"]:
        """β = softplus(raw)."""
        return softplus(self.raw_sharpness)

    def queries(self, query: Query) -> Float[Tensor, "batch query d_key"]:
        """Of length β."""
        return unit(query) * self.sharpness


def unit(states: Float[Tensor, "*batch d_key"]) -> Float[Tensor, "*batch d_key"]:
    """Scaled to length one. A vector of zeros has no direction: it stays zero, and gets no gradient."""
    return normalize(states, dim=-1).masked_fill((states == 0).all(dim=-1, keepdim=True), 0.0)


class Additive(nn.Module):
    """vᵀtanh(Wq + Uk + b) (Bahdanau et al. 2015, A.1.2), Luong's "concat": W[q; k] = W₁q + W₂k.

    Luong's own code fixed U to the identity (his footnote 15); here both are learned. It is computed as
    2vᵀσ(2Wq + 2Uk + 2b) - Σv, which is the same: torch's σ takes a sixth of the time of its tanh on a CPU.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.of_query = nn.Linear(d_query, d_hidden)
        self.of_key = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Parameter(torch.empty(d_hidden))
        init_xavier(self.of_query, self.of_key)
        nn.init.uniform_(self.v, -(d_hidden**-0.5), d_hidden**-0.5)

    def keys(self, states: KeyStates) -> Keys:
        """2Uk, which no step of the decoder changes: the paper, too, computes Uk beforehand."""
        of_key: Tensor = self.of_key(states)
        return 2 * of_key

    def forward(self, query: Query, keys: Keys) -> QueryByKey:
        both: Tensor = 2 * self.of_query(query)[:, :, None] + keys[:, None]
        return both.sigmoid_() @ (2 * self.v) - self.v.sum()


class Location(nn.Module):
    """Wq (Luong et al. 2015, eq. 8): where to look is told by the query alone, whatever stands there.

    There is one row of W for each position, so sources are bounded. A longer one is refused, unless `truncates`:
    then what lies beyond is never looked at, as in the paper (footnote 6).
    """

    def __init__(self, d_query: int, num_positions: int, *, truncates: bool = False) -> None:
        super().__init__()
        self.of_position = nn.Linear(d_query, num_positions, bias=False)
        self.truncates = truncates
        init_xavier(self.of_position)

    def keys(self, states: KeyStates) -> Keys:
        """Only their number counts."""
        most, length = self.of_position.out_features, states.shape[-2]
        if length > most and not self.truncates:
            raise DataError(
                f"A location score has {most} positions, but a source has {length} tokens. Split the text, or train "
                "with a larger model.attention.num_positions; model.attention.truncates ignores what lies beyond."
            )
        return states

    def forward(self, query: Query, keys: Keys) -> QueryByKey:
        scores: Tensor = self.of_position(query)[..., : keys.shape[-2]]
        beyond = keys.shape[-2] - scores.shape[-1]
        return nn.functional.pad(scores, (0, beyond), value=-torch.inf) if beyond else scores
