"""Back-pointers: which row each row grew from, so that no token is copied while a beam is reordered."""

from dataclasses import dataclass, field
from typing import NamedTuple

from saccade.search.hypothesis import Hypothesis, score
from saccade.search.settings import SearchSettings


class End(NamedTuple):
    """Where a hypothesis ended. Its tokens are read from the history only if it is returned."""

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

    def add(self, parents: list[int], tokens: list[int]) -> None:
        """Note how the rows of the next step grew from those of this one."""
        self.parents.append(parents)
        self.tokens.append(tokens)

    def path(self, end: End) -> list[int]:
        """The tokens of a hypothesis."""
        tokens, row = [end.token], end.parent
        for step in reversed(range(end.step)):
            tokens.append(self.tokens[step][row])
            row = self.parents[step][row]
        return tokens[::-1]

    def best(self, ends: list[End], eos: int, settings: SearchSettings) -> list[Hypothesis]:
        """The `n_best` of these hypotheses by score; among equals the one that ended first."""
        scores = [score(end.log_prob, end.step + 1, settings) for end in ends]
        ranked = sorted(zip(scores, ends, strict=True), key=lambda pair: -pair[0])
        return [self._hypothesis(score, end, eos) for score, end in ranked[: settings.n_best]]

    def _hypothesis(self, score: float, end: End, eos: int) -> Hypothesis:
        tokens, finished = self.path(end), end.token == eos
        return Hypothesis(tuple(tokens[:-1] if finished else tokens), end.log_prob, score, finished)
