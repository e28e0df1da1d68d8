"""How a translation is searched for. Known without torch, so that every engine can be asked the same."""

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings:
    """Which translations are looked at, and which is the best of them."""

    beam: int = 5
    """How many prefixes of a translation are kept at each step; 1 is greedy search."""

    n_best: int = 1
    """How many translations of a sentence are returned, at most `beam`."""

    length_penalty: float = 1.0
    """The α that makes translations of different lengths comparable: 0 ranks by probability alone, which
    favours short ones; larger values favour long ones."""

    penalty: Literal["length", "gnmt"] = "length"
    """What the log-probability is divided by: `length` is length^α, `gnmt` is ((5 + length) / 6)^α; the end of the
    sentence counts as a token."""

    max_length_factor: float = 2.0
    """A translation has at most this many tokens per source token, plus `max_length_extra`."""

    max_length_extra: int = 20
    """The tokens a translation may have beyond `max_length_factor` times the source."""

    def __post_init__(self) -> None:
        rules = {
            "beam": (self.beam >= 1, "at least 1"),
            "n_best": (1 <= self.n_best <= self.beam, f"between 1 and beam, which is {self.beam}"),
            "length_penalty": (0 <= self.length_penalty < math.inf, "a finite number, 0 or more"),
            "max_length_factor": (0 <= self.max_length_factor < math.inf, "a finite number, 0 or more"),
            "max_length_extra": (self.max_length_extra >= 1, "at least 1"),
        }
        broken = [(name, rule) for name, (holds, rule) in rules.items() if not holds]
        if broken:
            raise ValueError("; ".join(f"{name} must be {rule}, not {getattr(self, name)}" for name, rule in broken))

    def limit(self, source_length: int) -> int:
        """The most tokens that so many source tokens may be translated by, the end of sentence included."""
        return math.ceil(self.max_length_factor * source_length + self.max_length_extra)
