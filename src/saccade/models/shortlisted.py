"""A model that writes candidates only, so that a step computes a small part of the vocabulary.

Every sentence has candidates of its own. To a search, the id of a token is its place among them: all that a search
compares are tokens of one sentence. What other sentences of the batch may write is computed in the same product, and
not looked at.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from saccade.models.encoder_decoder import Encoded, State, Writer
from saccade.nn.axes import RowTokens
from saccade.protocol import LogProbs
from saccade.search.constraints import Constraints, Phrase
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem

MULTIPLE = 512
"""Tokens that are computed are a multiple of this: for every new number of them, oneDNN makes a new kernel."""


@dataclass(frozen=True, slots=True)
class ShortlistedState(Generic[State]):
    """The model's own state, with the sentence that each of its rows belongs to."""

    inner: State
    sentences: RowTokens


class Shortlisted(Generic[Encoded, State]):
    """Keeps `Decodes` for one batch."""

    def __init__(self, model: Writer[Encoded, State], candidates: Sequence[NDArray[np.int32]]) -> None:
        """`candidates` are the ids of each sentence, ascending; all of them begin with the same specials."""
        self._model, self._candidates = model, candidates
        device, bias = model.output_weight.device, model.output_bias
        is_any = np.zeros(len(model.output_weight), np.bool_)
        is_any[np.concatenate(candidates)] = True
        tokens, places = np.flatnonzero(is_any), is_any.cumsum() - 1
        every = torch.from_numpy(np.pad(tokens, (0, MULTIPLE - len(tokens) % MULTIPLE))).to(device)
        self._weight = model.output_weight.index_select(0, every)
        self._bias = self._weight.new_zeros(len(every)) if bias is None else bias.index_select(0, every)
        self._bias[len(tokens) :] = -torch.inf
        self._tokens = _padded(candidates, 0).to(device)
        # Where the logits of a sentence's candidates stand among those of all; those behind the last of them are -inf.
        self._places = _padded([places[own] for own in candidates], len(tokens)).to(device)

    def start(self, memory: Encoded) -> ShortlistedState[State]:
        return ShortlistedState(self._model.start(memory), torch.arange(len(self._tokens), device=self._tokens.device))

    def step(self, last: RowTokens, state: ShortlistedState[State]) -> tuple[LogProbs, ShortlistedState[State]]:
        """What may follow, among the candidates of each row's sentence."""
        of = state.sentences
        hidden, inner = self._model.advance(self._tokens[of, last], state.inner)
        logits = linear(hidden, self._weight, self._bias).gather(1, self._places[of])
        return logits.log_softmax(dim=-1), ShortlistedState(inner, of)

    def pick(self, state: ShortlistedState[State], rows: Int[Tensor, " picked"]) -> ShortlistedState[State]:
        return ShortlistedState(self._model.pick(state.inner, rows), state.sentences[rows])

    def narrow(self, problem: SearchProblem[Any, Any]) -> SearchProblem[Any, Any]:
        """The problem of a search among candidates."""
        constraints = [self._narrowed(at, own) for at, own in enumerate(problem.constraints)]
        return replace(problem, model=self, constraints=constraints)

    def widen(self, found: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """What such a search has found, in the ids of the vocabulary."""
        return [[self._widened(at, hypothesis) for hypothesis in several] for at, several in enumerate(found)]

    def widen_stream(self, tokens: Generator[int, None, Hypothesis]) -> Generator[int, None, Hypothesis]:
        """The same of the tokens of a batch's one sentence, as they are written."""
        (candidates,) = self._candidates
        while True:
            try:
                token = next(tokens)
            except StopIteration as end:
                return self._widened(0, end.value)
            yield int(candidates[token])

    def _widened(self, sentence: int, found: Hypothesis) -> Hypothesis:
        tokens = self._candidates[sentence].tolist()
        ids, *unmet = (tuple(tokens[place] for place in phrase) for phrase in (found.ids, *found.unmet))
        return replace(found, ids=ids, unmet=tuple(unmet))

    def _narrowed(self, sentence: int, constraints: Constraints) -> Constraints:
        """What must be written is among the candidates; what is banned need not be, and then cannot be written."""
        places = {id: place for place, id in enumerate(self._candidates[sentence].tolist())}

        def narrowed(phrase: Phrase) -> Phrase:
            return tuple(places[id] for id in phrase)

        return Constraints(
            prefix=narrowed(constraints.prefix),
            banned=tuple(narrowed(phrase) for phrase in constraints.banned if places.keys() >= set(phrase)),
            required=tuple(narrowed(phrase) for phrase in constraints.required),
        )


def _padded(rows: Sequence[NDArray[Any]], value: int) -> Int[Tensor, "batch candidates"]:
    padded = np.full((len(rows), max(map(len, rows))), value, np.int64)
    for row, own in zip(padded, rows, strict=True):
        row[: len(own)] = own
    return torch.from_numpy(padded)
