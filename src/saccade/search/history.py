"""Back-pointers: which row each row grew from, so that no token is copied while a beam is reordered."""

from dataclasses import dataclass, field
from typing import NamedTuple

from saccade.search.constraints import FREE, Constraints
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
        return [*self.prefix(end.parent, end.step), end.token]

    def prefix(self, row: int, length: int) -> list[int]:
        """What a row has written before the step of this number."""
        tokens = []
        for step in reversed(range(length)):
            tokens.append(self.tokens[step][row])
            row = self.parents[step][row]
        return tokens[::-1]

    def best(
        self, ends: list[End], eos: int, settings: SearchSettings, constraints: Constraints = FREE
    ) -> list[Hypothesis]:
        """The `n_best` of these hypotheses by score; among equals the one that ended first.

        Those that have more of the required phrases come before all others.
        """
        ranked = sorted(ends, key=lambda end: -score(end.log_prob, end.step + 1, settings))
        if constraints.required:
            ranked.sort(key=lambda end: len(constraints.unmet(self.path(end))))
        paths = [(end, self.path(end)) for end in ranked[: settings.n_best]]
        return [Hypothesis.of(path, end.log_prob, eos, settings, constraints.unmet(path)) for end, path in paths]
