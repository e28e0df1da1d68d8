"""How a translation is searched for. Known without torch, so that every engine can be asked the same."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Le

from saccade.fields import Checked, Seed

Strength = Annotated[float, Interval(ge=0, le=1000)]
Length = Annotated[int, Interval(ge=0, le=100_000)]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSettings(Checked):
    """Which translations are looked at, and which is the best of them."""

    method: Literal["beam", "diverse", "alternatives", "sampling"] = "beam"
    """`beam` keeps the likeliest prefixes; `diverse` does so in groups that avoid each other's tokens; `alternatives`
    completes the likeliest next tokens of a given prefix, one translation each; `sampling` samples tokens."""

    beam: Annotated[int, Interval(ge=1, le=1000)] = 5
    """How many prefixes of a translation are kept at each step; 1 is greedy search. `sampling` keeps none."""

    n_best: Annotated[int, Interval(ge=1, le=10_000)] = 1
    """How many translations of a sentence are returned, best first: at most `beam`. `alternatives` and `sampling`
    return as many as are asked for: by the probability of the next token, and in the order in which they were drawn."""

    length_penalty: Annotated[float, Interval(ge=0, le=10)] = 1.0
    """The α that makes translations of different lengths comparable: 0 ranks by probability alone, which
    favours short ones; larger values favour long ones."""

    penalty: Literal["length", "gnmt"] = "length"
    """What the log-probability is divided by: `length` is length^α, `gnmt` is ((5 + length) / 6)^α; the end of the
    sentence counts as a token."""

    stopping: Literal["ctranslate2", "exact"] = "ctranslate2"
    """When a beam has searched enough. `ctranslate2`: as many translations as the beam is wide have ended; with
    `length_penalty = 0`, the best candidate has. `exact`: no prefix of the beam can become one of the `n_best` any
    more, however it goes on; the search takes longer."""

    coverage_penalty: Strength = 0.0
    """The β by which a translation loses score for source tokens that it hardly attended to (Wu et al. 2016, equation
    14). It ranks the translations that a beam has found by the weights of the last layer, averaged over its heads; the
    search itself does not look at weights. 0 is off."""

    min_length: Length = 0
    """A translation has at least this many tokens, its end aside, unless nothing but the end may follow."""

    max_length_factor: Strength = 2.0
    """A translation has at most this many tokens per source token, plus `max_length_extra`."""

    max_length_extra: Annotated[int, Interval(ge=1, le=100_000)] = 20
    """The tokens a translation may have beyond `max_length_factor` times the source."""

    no_repeat_ngram: Length = 0
    """Forbid repeating any n-gram of this size in a translation. 0 is off."""

    max_repeats: Length = 0
    """No token and no group of tokens comes more often than this one right after the other, which breaks the loops that
    a weak model falls into: 3 lets "very very very" pass, and no fourth. 0 is off."""

    unknown: bool = True
    """Whether a translation may have `<unk>`, which is shown as ⁇."""

    shortlist: bool = True
    """Where the model directory has a shortlist: every translation is written in the tokens that it lists for its
    source, which is faster, and log-probabilities are among these. It does not concern ensembles."""

    groups: Annotated[int, Interval(ge=1, le=1000)] | None = None
    """With `method = "diverse"`: into how many groups the beam is divided; as many as it is wide when absent."""

    diversity: Strength = 0.5
    """With `method = "diverse"`: the log-probability that a token loses for every prefix of an earlier group that has
    just taken it (Vijayakumar et al. 2016, Hamming diversity)."""

    temperature: Annotated[float, Interval(ge=0.001, le=1000)] = 1.0
    """With `method = "sampling"`: log-probabilities are divided by this; below 1, likely tokens become likelier."""

    top_k: Annotated[int, Interval(ge=0, le=1_000_000_000)] = 0
    """With `method = "sampling"`: sample from this number of likeliest tokens only. 0 is all of them."""

    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    """With `method = "sampling"`: only the likeliest tokens are drawn from that together have this probability."""

    seed: Seed = 1
    """With `method = "sampling"`: another seed draws other translations. What is drawn depends on it and on the
    sentence, and not on the company of other sentences."""

    def conflicts(self) -> Iterator[str]:
        if self.n_best > self.beam and not self.returns_any_number:
            yield f"n_best must be at most beam, which is {self.beam}, not {self.n_best}"
        if self.groups is not None and self.beam % self.groups:
            yield f"groups must be a divisor of beam, {self.beam}, not {self.groups}"
        defaults = {field.name: field.default for field in fields(self)}
        for name, methods in BELONGS_TO.items():
            if getattr(self, name) != defaults[name] and self.method not in methods:
                known = " or ".join(f'"{method}"' for method in methods)
                yield f'{name} goes with method = {known} only, not with "{self.method}"'
        if self.coverage_penalty and self.stopping == "exact":
            yield (
                'coverage_penalty goes with stopping = "ctranslate2" only: it ranks what a search has found, '
                "and so cannot tell it when to stop"
            )

    def limit(self, source_length: int) -> int:
        """The most tokens that so many source tokens may be translated by, the end of sentence included."""
        return math.ceil(self.max_length_factor * source_length + self.max_length_extra)

    @property
    def num_rows(self) -> int:
        """How many prefixes of a sentence are continued at once."""
        return {"sampling": self.n_best, "alternatives": self.n_best * self.beam}.get(self.method, self.beam)

    @property
    def returns_any_number(self) -> bool:
        """Whether `n_best` may be larger than `beam`."""
        return self.method in ("alternatives", "sampling")


BELONGS_TO = {
    "stopping": ("beam", "diverse", "alternatives"),
    "coverage_penalty": ("beam",),
    "groups": ("diverse",),
    "diversity": ("diverse",),
    "temperature": ("sampling",),
    "top_k": ("sampling",),
    "top_p": ("sampling",),
    "seed": ("sampling",),
}
