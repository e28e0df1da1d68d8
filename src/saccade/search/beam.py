"""Beam search over anything that can start, step and pick, by the rules of CTranslate2.

Prefixes are ranked by their plain log-probability; only what has ended is made comparable by length.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from saccade.protocol import LogProbs, Memory, State
from saccade.search.blocks import top_by_blocks
from saccade.search.constraints import Constraints
from saccade.search.hypothesis import Hypothesis, score
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings


class End(NamedTuple):
    """Where a hypothesis ended. Its tokens are read from the history only if it is returned."""

    step: int
    rank: int  # its place among the candidates of that step
    parent: int  # the row of that step which it continues, with the token
    token: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class History:
    """Back-pointers, so that no token is copied while a beam is reordered; item n of each list belongs to step n."""

    parents: list[list[int]] = field(default_factory=list)  # the row of step n that each row of step n + 1 continues
    tokens: list[list[int]] = field(default_factory=list)  # the token by which it does

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

    def best(self, ends: list[End], eos: int, settings: SearchSettings, constraints: Constraints) -> list[Hypothesis]:
        """The `n_best` of these hypotheses by score; among equals the one that ended first."""
        # Those that have more of the required phrases come before all others.
        ranked = sorted(ends, key=lambda end: -score(end.log_prob, end.step + 1, settings))
        if constraints.required:
            ranked.sort(key=lambda end: len(constraints.unmet(self.path(end))))
        paths = [(end, self.path(end)) for end in ranked[: settings.n_best]]
        return [Hypothesis.of(path, end.log_prob, eos, settings, constraints.unmet(path)) for end, path in paths]


@dataclass(frozen=True, slots=True)
class Beam:
    """The prefixes that still grow, of the sentences that are not done."""

    sentences: Int[Tensor, " batch"]
    limits: Int[Tensor, " batch"]
    last: Int[Tensor, "batch width"]  # one prefix a sentence before the first step; then as many as the beam
    log_probs: Float[Tensor, "batch width"]  # -inf for the places that a sentence has no prefix for


@dataclass(frozen=True, slots=True)
class Candidates:
    """The likeliest prefixes that are one token longer, best first."""

    parents: Int[Tensor, "batch candidates"]  # the row that each one continues
    tokens: Int[Tensor, "batch candidates"]
    log_probs: Float[Tensor, "batch candidates"]


Rank = Callable[[Beam, LogProbs, History], Candidates]
"""From the model's log-probabilities and the prefixes so far, the candidates, best placed first."""


@torch.inference_mode()
def beam_search(
    problem: SearchProblem[Memory, State], settings: SearchSettings, rank: Rank | None = None
) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first.

    The likeliest prefixes are kept unless `rank` says otherwise. Constraints are read only to tell what is unmet.
    """
    assert bool((problem.limits > 0).all()), "a hypothesis has at least an end"
    model, eos, device = problem.model, problem.eos, problem.device
    banned, count = problem.banned_ids, 2 * settings.beam
    rank = rank or (lambda beam, log_probs, _: rank_likeliest(beam, log_probs, count, banned))
    batch = len(problem)
    starts = torch.full((batch, 1), problem.bos), torch.zeros(batch, 1)
    beam = Beam(torch.arange(batch), problem.limits.cpu(), *starts)
    ends: list[list[End]] = [[] for _ in range(len(problem))]
    history = History()
    done = exact(problem, settings, history) if settings.stopping == "exact" else like_ctranslate2(settings)
    state = model.start(problem.memory)

    for number in range(max(problem.limits.tolist(), default=0)):
        # 1. Ask the model what may follow.
        log_probs, state = model.step(beam.last.flatten().to(device), state)
        # 2. Rank: twice the beam, so that it can be filled again even if its best candidates all end.
        candidates = rank(beam, log_probs, history)
        # 3. Note what ends: all of it at a sentence's limit.
        ended = (candidates.tokens == eos) | (beam.limits == number + 1)[:, None]
        _register(ends, number, beam, candidates, ended[:, : settings.beam])
        # 4. Continue the rest, without the sentences that are done.
        grown, rows = _grow(beam, candidates, ended, settings.beam)
        beam, parents = _leave(grown, rows, done(grown, ends, number + 1))
        history.add(parents, beam.last.flatten().tolist())
        if not parents:
            break
        # 5. Let the model's state follow.
        if parents != list(range(len(log_probs))):
            state = model.pick(state, torch.tensor(parents, device=device))

    return [history.best(ended, eos, settings, problem.constraints_of(at)) for at, ended in enumerate(ends)]


def rank_likeliest(beam: Beam, log_probs: LogProbs, count: int, banned: Int[Tensor, " banned"]) -> Candidates:
    """The likeliest continuations of each sentence, on the CPU; -inf where there are fewer than `count`."""
    # The best of every row are found first, so that nothing as large as `log_probs` is copied or added up.
    batch, width = beam.last.shape
    if quick := top_by_blocks(beam.log_probs.to(log_probs), log_probs, count, banned):
        return Candidates(quick.rows.cpu(), quick.tokens.cpu(), quick.sums.cpu())
    best, token = top_stable(log_probs, count + len(banned))
    best = best.masked_fill(torch.isin(token, banned), -torch.inf)
    sums = beam.log_probs.to(best.device)[:, :, None] + best.view(batch, width, -1)
    top, index = top_stable(sums.flatten(1), count)
    row = torch.arange(batch, device=index.device)[:, None] * width + index // best.shape[1]
    token = token[row, index % best.shape[1]]
    missing = (0, count - top.shape[1])
    return Candidates(pad(row.cpu(), missing), pad(token.cpu(), missing), pad(top.cpu(), missing, value=-torch.inf))


def top_stable(
    values: Float[Tensor, "batch choices"], count: int
) -> tuple[Float[Tensor, "batch top"], Int[Tensor, "batch top"]]:
    """`topk` with the lower index first among equals, which `topk` itself does not promise."""
    choices = values.shape[1]
    count = min(count, choices)
    top, index = values.topk(min(count + 1, choices))
    last, next_one = top[:, count - 1 : count], top[:, count:]
    top, index = top[:, :count], index[:, :count]
    if bool(((last == next_one) & next_one.isfinite()).any()):  # equals on both sides of the cut
        places = torch.arange(choices, dtype=torch.int32, device=values.device)
        lowest = places.where(values == last, choices).topk(count, largest=False).values.long()
        nth = torch.arange(count, device=values.device) - (top > last).sum(dim=1, keepdim=True)
        index = torch.where(nth < 0, index, lowest.gather(1, nth.clamp(min=0)))
    index, by_index = index.sort(dim=1)
    top, by_value = top.gather(1, by_index).sort(dim=1, descending=True, stable=True)
    return top, index.gather(1, by_value)


def _register(
    ends: list[list[End]], step: int, beam: Beam, candidates: Candidates, ended: Bool[Tensor, "batch beam"]
) -> None:
    """Note where hypotheses end in this step; only candidates that rank within the beam may."""
    exists = candidates.log_probs[:, : ended.shape[1]] != -torch.inf
    row, rank = (ended & exists).nonzero(as_tuple=True)
    columns = [beam.sentences[row], rank]
    columns += [values[row, rank] for values in (candidates.parents, candidates.tokens, candidates.log_probs)]
    for sentence, *end in zip(*(column.tolist() for column in columns), strict=True):
        ends[sentence].append(End(step, *end))


def _grow(
    beam: Beam, candidates: Candidates, ended: Bool[Tensor, "batch candidates"], width: int
) -> tuple[Beam, Int[Tensor, "batch width"]]:
    """The next beam, and the row that each of its prefixes continues."""
    best = ended.sort(dim=1, stable=True).indices[:, :width]
    log_probs = candidates.log_probs.masked_fill(ended, -torch.inf).gather(1, best)
    tokens, parents = candidates.tokens.gather(1, best), candidates.parents.gather(1, best)
    return Beam(beam.sentences, beam.limits, tokens, log_probs), parents


def _leave(beam: Beam, parents: Int[Tensor, "batch width"], done: list[bool]) -> tuple[Beam, list[int]]:
    """The same without the sentences that are done, or have no prefix left."""
    on = ~torch.tensor(done) & (beam.log_probs[:, 0] != -torch.inf)
    left = Beam(beam.sentences[on], beam.limits[on], beam.last[on], beam.log_probs[on])
    return left, parents[on].flatten().tolist()


Done = Callable[[Beam, list[list[End]], int], list[bool]]
"""Which sentences have been searched enough, by their prefixes of this many tokens and by what has ended."""


def like_ctranslate2(settings: SearchSettings) -> Done:
    """As many have ended as the beam is wide; without a penalty, the best candidate has, and can not be overtaken."""

    def enough(ends: list[End]) -> bool:
        if settings.length_penalty == 0:
            return len(ends) >= settings.n_best and any(end.rank == 0 for end in ends)
        return len(ends) >= settings.beam

    return lambda beam, ends, _: [enough(ends[sentence]) for sentence in beam.sentences.tolist()]


def exact(problem: SearchProblem[Memory, State], settings: SearchSettings, history: History) -> Done:
    """Whatever its prefixes become, they cannot overtake the last of the `n_best` any more."""
    # A prefix loses log-probability with every token, and for a given log-probability the score rises or falls all the
    # way with the length: so it ends no better than with all it has now, after the next token or at its limit.

    def worth(sentence: int, end: End) -> float:
        constraints = problem.constraints_of(sentence)
        if constraints.required and constraints.unmet(history.path(end)):
            return -math.inf  # ranks below whatever is still to come
        return score(end.log_prob, end.step + 1, settings)

    def done(beam: Beam, ends: list[list[End]], length: int) -> list[bool]:
        finished = []
        for sentence, limit, log_prob in zip(
            beam.sentences.tolist(), beam.limits.tolist(), beam.log_probs.amax(dim=1).tolist(), strict=True
        ):
            hope = max(score(log_prob, length + 1, settings), score(log_prob, limit, settings))
            worths = sorted((worth(sentence, end) for end in ends[sentence]), reverse=True)
            finished.append(len(worths) >= settings.n_best and worths[settings.n_best - 1] >= hope)
        return finished

    return done
