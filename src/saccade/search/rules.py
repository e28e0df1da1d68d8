"""What may not be written next. Rules take tokens away from what a model says before any search looks at it.

A token that is left keeps the model's own log-probability: nothing is normalised anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.protocol import Memory, State
from saccade.search.constraints import Constraints, Phrase
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What the rows of a step have written so far."""

    sentences: Int[Tensor, " rows"]
    """The one that each row belongs to."""
    tokens: Int[Tensor, "rows length"]


Rule = Callable[[Prefixes, Float[Tensor, "rows vocab"]], None]
"""Sets to -inf, in place, the log-probabilities of what may not follow."""


def rules(problem: SearchProblem[Memory, Any], settings: SearchSettings) -> list[Rule]:
    """All that problem and settings ask for, except prefixes."""
    constraints, eos = problem.constraints, problem.eos
    asked: list[Rule] = []
    if settings.no_repeat_ngram:
        asked.append(no_repeat(settings.no_repeat_ngram))
    if settings.max_repeats:
        asked.append(no_loop(settings.max_repeats))
    if any(each.banned for each in constraints):
        asked.append(without([each.banned for each in constraints]))
    if settings.min_length:
        asked.append(at_least(settings.min_length, eos))
    if any(each.required for each in constraints):
        asked.append(no_end_before([each.required for each in constraints], eos))
    return asked


def at_least(length: int, eos: int) -> Rule:
    """No end before so many tokens."""

    def rule(prefixes: Prefixes, log_probs: Float[Tensor, "rows vocab"]) -> None:
        if prefixes.tokens.shape[1] < length:
            log_probs[:, eos] = -torch.inf

    return rule


def no_repeat(size: int) -> Rule:
    """No n-gram of this size twice."""

    def rule(prefixes: Prefixes, log_probs: Float[Tensor, "rows vocab"]) -> None:
        tokens = prefixes.tokens
        if tokens.shape[1] < size:
            return
        seen = tokens.unfold(1, size, 1)
        now = tokens[:, tokens.shape[1] - size + 1 :]
        again = (seen[:, :, :-1] == now[:, None]).all(dim=2)
        _take_away(log_probs, seen[:, :, -1], again)

    return rule


def no_loop(most: int) -> Rule:
    """No token and no group of tokens more than so many times, one right after the other."""

    def rule(prefixes: Prefixes, log_probs: Float[Tensor, "rows vocab"]) -> None:
        tokens = prefixes.tokens
        length = tokens.shape[1]
        for period in range(1, (length + 1) // (most + 1) + 1):
            # With the token before this many, the last (most + 1) · period tokens would be one group again and again.
            last = tokens[:, length - (most + 1) * period + 1 :]
            loops = (last[:, period:] == last[:, :-period]).all(dim=1)
            _take_away(log_probs, tokens[:, -period, None], loops[:, None])

    return rule


def without(phrases: Sequence[Sequence[Phrase]]) -> Rule:
    """None of the phrases of each sentence."""

    def rule(prefixes: Prefixes, log_probs: Float[Tensor, "rows vocab"]) -> None:
        for row, (sentence, tokens) in enumerate(_listed(prefixes)):
            for *first, last in phrases[sentence]:
                if tokens[len(tokens) - len(first) :] == first:
                    log_probs[row, last] = -torch.inf

    return rule


def no_end_before(phrases: Sequence[Sequence[Phrase]], eos: int) -> Rule:
    """No end before all phrases of a sentence have been written."""

    def rule(prefixes: Prefixes, log_probs: Float[Tensor, "rows vocab"]) -> None:
        for row, (sentence, tokens) in enumerate(_listed(prefixes)):
            if Constraints(required=tuple(phrases[sentence])).unmet(tokens):
                log_probs[row, eos] = -torch.inf

    return rule


def _take_away(
    log_probs: Float[Tensor, "rows vocab"], tokens: Int[Tensor, "rows some"], where: Bool[Tensor, "rows some"]
) -> None:
    row, place = where.nonzero(as_tuple=True)
    log_probs[row, tokens[row, place]] = -torch.inf


def _listed(prefixes: Prefixes) -> list[tuple[int, list[int]]]:
    return list(zip(prefixes.sentences.tolist(), prefixes.tokens.tolist(), strict=True))


def apply_rules(problem: SearchProblem[Memory, Any], settings: SearchSettings) -> SearchProblem[Memory, Any]:
    """The problem with a model that keeps all rules; the problem itself if there are none."""
    asked = rules(problem, settings)
    if not asked and not any(constraints.prefix for constraints in problem.constraints):
        return problem
    return replace(problem, model=Ruled(problem, asked))


@dataclass(frozen=True, slots=True)
class RuledState(Generic[State]):
    """The model's own state, with what its rows have read."""

    inner: State
    sentences: Int[Tensor, " rows"]
    tokens: Int[Tensor, "rows read"]
    """The beginning of sentence included."""


@dataclass(frozen=True, slots=True)
class Ruled(Generic[Memory, State]):
    """The model of a problem behind rules, with the same three verbs: no search has to know of them.

    A row that nothing may follow ends, even if the rules would not let it. What is forced overrules them all.
    """

    problem: SearchProblem[Memory, State]
    rules: Sequence[Rule]

    def start(self, memory: Memory) -> RuledState[State]:
        """One row a sentence, which has read nothing."""
        sentences = torch.arange(len(self.problem), device=self.problem.device)
        return RuledState(self.problem.model.start(memory), sentences, sentences[:, None][:, :0])

    def step(
        self, last: Int[Tensor, " rows"], state: RuledState[State]
    ) -> tuple[Float[Tensor, "rows vocab"], RuledState[State]]:
        """What the model says may follow, as far as it may."""
        said, inner = self.problem.model.step(last, state.inner)
        tokens = torch.cat([state.tokens, last[:, None]], dim=1)
        prefixes = Prefixes(state.sentences, tokens[:, 1:])
        return self._kept(prefixes, said), RuledState(inner, state.sentences, tokens)

    def pick(self, state: RuledState[State], rows: Int[Tensor, " picked"]) -> RuledState[State]:
        """The state of these rows, in this order."""
        return RuledState(self.problem.model.pick(state.inner, rows), state.sentences[rows], state.tokens[rows])

    def _kept(self, prefixes: Prefixes, said: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        kept = said.clone()
        kept[:, list(self.problem.banned)] = -torch.inf
        for rule in self.rules:
            rule(prefixes, kept)
        stuck = (kept == -torch.inf).all(dim=1)
        eos = self.problem.eos
        kept[:, eos] = torch.where(stuck, said[:, eos], kept[:, eos])
        self._force(prefixes, said, kept)
        return kept

    def _force(self, prefixes: Prefixes, said: Float[Tensor, "rows vocab"], kept: Float[Tensor, "rows vocab"]) -> None:
        place = prefixes.tokens.shape[1]
        if place >= max((len(constraints.prefix) for constraints in self.problem.constraints), default=0):
            return
        for row, sentence in enumerate(prefixes.sentences.tolist()):
            prefix = self.problem.constraints_of(sentence).prefix
            if place < len(prefix):
                kept[row] = -torch.inf
                kept[row, prefix[place]] = said[row, prefix[place]]
