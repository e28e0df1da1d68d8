"""Back-pointers: which row each row grew from, so that no token is copied while a beam is reordered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from saccade.search.hypothesis import Hypothesis, score, stack_weights
from saccade.search.settings import SearchSettings


class End(NamedTuple):
    """Where a hypothesis ended. Its tokens and weights are read from the history only if it is returned."""

    step: int
    rank: int
    """Its place among the candidates of that step."""
    parent: int
    """The row of that step which it continues, with the token."""
    token: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class History:
    """What each step wrote; item n of each list belongs to step n."""

    parents: list[list[int]] = field(default_factory=list)
    """The row of step n that each row of step n + 1 continues."""
    tokens: list[list[int]] = field(default_factory=list)
    """The token by which it does."""
    weights: list[Mapping[str, Float[Tensor, "rows heads source"]]] = field(default_factory=list)

    def add(
        self,
        parents: list[int],
        tokens: list[int],
        weights: Mapping[str, Float[Tensor, "rows heads source"]],
    ) -> None:
        """Note how the rows of the next step grew from those of this one, which had these weights."""
        self.parents.append(parents)
        self.tokens.append(tokens)
        self.weights.append(weights)

    def path(self, end: End) -> tuple[list[int], list[int]]:
        """The tokens of a hypothesis, and the row that wrote each of them."""
        tokens, rows = [end.token], [end.parent]
        for step in reversed(range(end.step)):
            tokens.append(self.tokens[step][rows[-1]])
            rows.append(self.parents[step][rows[-1]])
        return tokens[::-1], rows[::-1]

    def best(self, ends: list[End], eos: int, settings: SearchSettings) -> list[Hypothesis]:
        """The `n_best` of these hypotheses by score; among equals the one that ended first."""
        scores = [score(end.log_prob, end.step + (end.token != eos), settings) for end in ends]
        ranked = sorted(zip(scores, ends, strict=True), key=lambda pair: -pair[0])
        return [self._hypothesis(score, end, eos) for score, end in ranked[: settings.n_best]]

    def _hypothesis(self, score: float, end: End, eos: int) -> Hypothesis:
        tokens, rows = self.path(end)
        finished = end.token == eos
        ids = tuple(tokens[:-1] if finished else tokens)
        weights = stack_weights(self.weights[: len(rows)], rows)
        return Hypothesis(ids, end.log_prob, score, finished, weights)
