"""A model that writes candidates only, so that a step computes a small part of the vocabulary.

Every sentence has candidates of its own. To a search, the id of a token is its place among them: all that a search
compares are tokens of one sentence. The rows of the output layer that belong to them lie side by side, sentence after
sentence.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from saccade.models.encoder_decoder import Encoded, State, Writer
from saccade.nn.axes import RowTokens
from saccade.protocol import LogProbs
from saccade.search.constraints import Constraints, Phrase
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem

LEFT = 0.75
"""Sentences that are done stay until this share is left: copying the others costs as much as a few steps of all."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The part of the output layer that each sentence needs."""

    tokens: Int[Tensor, "batch candidates"]
    weight: Float[Tensor, "batch candidates d_model"]
    bias: Float[Tensor, "batch candidates"]
    """-inf behind the last candidate of a sentence."""

    def pick(self, sentences: Int[Tensor, " picked"]) -> "Outputs":
        """That of these sentences, in this order."""
        return Outputs(*(part.index_select(0, sentences) for part in (self.tokens, self.weight, self.bias)))


@dataclass(frozen=True, slots=True)
class ShortlistedState(Generic[State]):
    """The model's own state, with where each of its rows belongs."""

    inner: State
    outputs: Outputs
    sentences: RowTokens  # the one of `outputs` that each row belongs to
    numbers: RowTokens  # its number among the rows of that sentence


class Shortlisted(Generic[Encoded, State]):
    """Keeps `Decodes` for one batch."""

    def __init__(self, model: Writer[Encoded, State], candidates: Sequence[NDArray[np.int32]]) -> None:
        """`candidates` are the ids of each sentence, ascending; all of them begin with the same specials."""
        self._model, self._candidates = model, candidates

    def start(self, memory: Encoded) -> ShortlistedState[State]:
        sentences = torch.arange(len(self._candidates), device=self._model.output_weight.device)
        return ShortlistedState(self._model.start(memory), self._outputs(), sentences, torch.zeros_like(sentences))

    def step(self, last: RowTokens, state: ShortlistedState[State]) -> tuple[LogProbs, ShortlistedState[State]]:
        """What may follow, among the candidates of each row's sentence."""
        outputs, place = state.outputs, (state.sentences, state.numbers)
        hidden, inner = self._model.advance(outputs.tokens[state.sentences, last], state.inner)
        asked = hidden.new_zeros(len(outputs.tokens), int(state.numbers.max()) + 1, hidden.shape[-1])
        asked[place] = hidden
        # Whᵀ, as MKL takes twice as long for hWᵀ with a few rows.
        logits = torch.baddbmm(outputs.bias[:, :, None], outputs.weight, asked.mT).mT[place]
        return logits.log_softmax(dim=-1), replace(state, inner=inner)

    def pick(self, state: ShortlistedState[State], rows: Int[Tensor, " picked"]) -> ShortlistedState[State]:
        outputs, sentences = state.outputs, state.sentences[rows]
        left, places = torch.unique(sentences, return_inverse=True)
        if len(left) <= LEFT * len(outputs.tokens):
            outputs, sentences = outputs.pick(left), places
        return ShortlistedState(self._model.pick(state.inner, rows), outputs, sentences, _numbered(sentences))

    def _outputs(self) -> Outputs:
        model, lengths = self._model, torch.tensor([len(own) for own in self._candidates])
        padded = np.zeros((len(lengths), int(lengths.max())), np.int64)
        for row, own in zip(padded, self._candidates, strict=True):
            row[: len(own)] = own
        tokens = torch.from_numpy(padded).to(model.output_weight.device)
        weight = model.output_weight.index_select(0, tokens.flatten()).view(*tokens.shape, -1)
        bias = weight.new_zeros(tokens.shape) if model.output_bias is None else model.output_bias[tokens]
        beyond = torch.arange(tokens.shape[1]) >= lengths[:, None]
        return Outputs(tokens, weight, bias.masked_fill(beyond.to(tokens.device), -torch.inf))

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


def _numbered(sentences: RowTokens) -> RowTokens:
    """The number of each row among those of its sentence."""
    order = sentences.argsort(stable=True)
    ordered, numbers = sentences[order], torch.empty_like(sentences)
    numbers[order] = torch.arange(len(order), device=order.device) - torch.searchsorted(ordered, ordered)
    return numbers
