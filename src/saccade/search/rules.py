"""What may not be written next. Rules take tokens away from what a model says before any search looks at it.

A token that is left keeps the model's own log-probability: nothing is normalised anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from saccade.protocol import LogProbs, Memory, State
from saccade.search.constraints import Phrase, contains
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What the rows of a step have written so far."""

    sentences: Int[Tensor, " rows"]  # the one that each row belongs to
    tokens: Int[Tensor, "rows length"]


Rule = Callable[[Prefixes, LogProbs], None]
"""Sets to -inf, in place, the log-probabilities of what may not follow."""


def rules(problem: SearchProblem[Memory, Any], settings: SearchSettings) -> list[Rule]:
    """All that problem and settings ask for, except prefixes."""
    banned, required = ([getattr(each, name) for each in problem.constraints] for name in ("banned", "required"))
    asked: list[Rule] = []
    if settings.no_repeat_ngram:
        asked.append(partial(no_repeat, settings.no_repeat_ngram))
    if settings.max_repeats:
        asked.append(partial(no_loop, settings.max_repeats))
    if any(banned):
        asked.append(partial(without, banned))
    if settings.min_length:
        asked.append(partial(at_least, settings.min_length, problem.eos))
    if any(required):
        asked.append(partial(no_end_before, required, problem.eos))
    return asked


def at_least(length: int, eos: int, prefixes: Prefixes, log_probs: LogProbs) -> None:
    """No end before so many tokens."""
    if prefixes.tokens.shape[1] < length:
        log_probs[:, eos] = -torch.inf


def no_repeat(size: int, prefixes: Prefixes, log_probs: LogProbs) -> None:
    """No n-gram of this size twice."""
    tokens = prefixes.tokens
    if tokens.shape[1] < size:
        return
    seen = tokens.unfold(1, size, 1)
    now = tokens[:, tokens.shape[1] - size + 1 :]
    again = (seen[:, :, :-1] == now[:, None]).all(dim=2)
    _take_away(log_probs, seen[:, :, -1], again)


def no_loop(most: int, prefixes: Prefixes, log_probs: LogProbs) -> None:
    """No token and no group of tokens more than so many times, one right after the other."""
    tokens = prefixes.tokens
    length = tokens.shape[1]
    for period in range(1, (length + 1) // (most + 1) + 1):
        # With the token before this many, the last (most + 1) · period tokens would be one group again and again.
        last = tokens[:, length - (most + 1) * period + 1 :]
        loops = (last[:, period:] == last[:, :-period]).all(dim=1)
        _take_away(log_probs, tokens[:, -period, None], loops[:, None])


def without(phrases: Sequence[Sequence[Phrase]], prefixes: Prefixes, log_probs: LogProbs) -> None:
    """None of the phrases of each sentence."""
    for row, (sentence, tokens) in enumerate(_listed(prefixes)):
        for *first, last in phrases[sentence]:
            if tokens[len(tokens) - len(first) :] == first:
                log_probs[row, last] = -torch.inf


def no_end_before(phrases: Sequence[Sequence[Phrase]], eos: int, prefixes: Prefixes, log_probs: LogProbs) -> None:
    """No end before all phrases of a sentence have been written."""
    for row, (sentence, tokens) in enumerate(_listed(prefixes)):
        if not all(contains(tokens, phrase) for phrase in phrases[sentence]):
            log_probs[row, eos] = -torch.inf


def _take_away(log_probs: LogProbs, tokens: Int[Tensor, "rows some"], where: Bool[Tensor, "rows some"]) -> None:
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
    tokens: Int[Tensor, "rows read"]  # the beginning of sentence included


@dataclass(frozen=True, slots=True)
class Ruled(Generic[Memory, State]):
    """The model of a problem behind rules, with the same three verbs: no search has to know of them."""

    # A row that nothing may follow ends, even if the rules would not let it. What is forced overrules them all.

    problem: SearchProblem[Memory, State]
    rules: Sequence[Rule]

    def start(self, memory: Memory) -> RuledState[State]:
        sentences = torch.arange(len(self.problem), device=self.problem.device)
        return RuledState(self.problem.model.start(memory), sentences, sentences[:, None][:, :0])

    def step(self, last: Int[Tensor, " rows"], state: RuledState[State]) -> tuple[LogProbs, RuledState[State]]:
        said, inner = self.problem.model.step(last, state.inner)
        tokens = torch.cat([state.tokens, last[:, None]], dim=1)
        prefixes = Prefixes(state.sentences, tokens[:, 1:])
        return self._kept(prefixes, said), RuledState(inner, state.sentences, tokens)

    def pick(self, state: RuledState[State], rows: Int[Tensor, " picked"]) -> RuledState[State]:
        return RuledState(self.problem.model.pick(state.inner, rows), state.sentences[rows], state.tokens[rows])

    def _kept(self, prefixes: Prefixes, said: LogProbs) -> LogProbs:
        kept = said.clone()
        kept[:, list(self.problem.banned)] = -torch.inf
        for rule in self.rules:
            rule(prefixes, kept)
        stuck = (kept == -torch.inf).all(dim=1)
        eos = self.problem.eos
        kept[:, eos] = torch.where(stuck, said[:, eos], kept[:, eos])
        self._force(prefixes, said, kept)
        return kept

    def _force(self, prefixes: Prefixes, said: LogProbs, kept: LogProbs) -> None:
        place = prefixes.tokens.shape[1]
        if place >= max((len(constraints.prefix) for constraints in self.problem.constraints), default=0):
            return
        for row, sentence in enumerate(prefixes.sentences.tolist()):
            prefix = self.problem.constraints_of(sentence).prefix
            if place < len(prefix):
                kept[row] = -torch.inf
                kept[row, prefix[place]] = said[row, prefix[place]]
