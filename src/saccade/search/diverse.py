"""Diverse beam search (Vijayakumar et al. 2016): groups of prefixes, of which each avoids what those before it say.

Translations of one beam differ in a comma; those of different groups have gone different ways.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import torch

from saccade.protocol import LogProbs, Memory, State
from saccade.search.beam import Beam, Candidates, History, Rank, beam_search, rank_likeliest
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings


def diverse_search(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first: as far as they go, as many of each group."""
    # To a beam, every group is a sentence of its own; only the ranking sees more than one.
    groups = settings.groups or settings.beam
    width = settings.beam // groups
    rank = rank_against_groups(problem, groups, width, settings.diversity)
    hypotheses = beam_search(problem.repeat(groups), replace(settings, beam=width, n_best=width, groups=1), rank)
    of_sentences = (hypotheses[start : start + groups] for start in range(0, len(hypotheses), groups))
    return [_select_from_groups(of_groups, settings.n_best) for of_groups in of_sentences]


def rank_against_groups(problem: SearchProblem[Memory, State], groups: int, width: int, diversity: float) -> Rank:
    """Rank group after group; a token loses for every place that the groups before have just given it."""
    # What is lost counts in this step only, and only for the order: log-probabilities stay the model's own.
    banned, device = problem.banned_ids, problem.device

    def rank(beam: Beam, log_probs: LogProbs, _: History) -> Candidates:
        batch, live = beam.last.shape
        sentences = beam.sentences // groups
        taken = log_probs.new_zeros(int(sentences.max()) + 1, log_probs.shape[1])
        shape = (batch, 2 * width)
        parents, tokens = (torch.zeros(shape, dtype=torch.long) for _ in range(2))
        sums = torch.zeros(shape, dtype=torch.promote_types(beam.log_probs.dtype, log_probs.dtype))
        for group in range(groups):
            at = (beam.sentences % groups == group).nonzero().flatten()
            if len(at) == 0:
                continue
            rows = (at[:, None] * live + torch.arange(live)).flatten().to(device)
            said = log_probs[rows]
            lost = diversity * taken[sentences[at].to(device)].repeat_interleave(live, dim=0)
            part = Beam(beam.sentences[at], beam.limits[at], beam.last[at], beam.log_probs[at])
            ranked = rank_likeliest(part, said - lost, 2 * width, banned)
            own = part.log_probs.flatten()[ranked.parents] + said.cpu()[ranked.parents, ranked.tokens]
            sums[at] = own.where(ranked.log_probs != -torch.inf, -torch.inf)
            parents[at], tokens[at] = rows.cpu()[ranked.parents], ranked.tokens
            exists = (ranked.log_probs[:, :width] != -torch.inf).to(taken)
            taken[sentences[at].to(device)] += torch.zeros_like(taken[: len(at)]).scatter_add_(
                1, ranked.tokens[:, :width].to(device), exists
            )
        return Candidates(parents, tokens, sums)

    return rank


def _select_from_groups(of_groups: Sequence[list[Hypothesis]], count: int) -> list[Hypothesis]:
    """The best of each group, then the second of each, and so on; none twice. The best of all is always among them."""
    chosen: dict[tuple[int, ...], Hypothesis] = {}
    first_to_last = sorted(of_groups, key=lambda hypotheses: -hypotheses[0].score)
    for of_one_rank in zip_longest(*first_to_last):
        for hypothesis in of_one_rank:
            if hypothesis is not None and len(chosen) < count:
                chosen.setdefault(hypothesis.ids, hypothesis)
    return sorted(chosen.values(), key=lambda hypothesis: -hypothesis.score)
