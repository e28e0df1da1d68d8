"""Sampling: tokens are drawn with the model's probabilities, by seed and sentence alone, whatever its company."""

from random import Random

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.protocol import LogProbs, Memory, State
from saccade.search.beam import top_stable
from saccade.search.greedy import Choose, last_of, write
from saccade.search.hypothesis import Hypothesis
from saccade.search.problem import SearchProblem
from saccade.search.settings import SearchSettings


def sample(problem: SearchProblem[Memory, State], settings: SearchSettings) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each sentence in the order of drawing; two may be the same."""
    count = settings.n_best
    repeated = problem.repeat(count)
    drawn = last_of(write(repeated, settings, sampler(repeated, settings)))
    return [drawn[start : start + count] for start in range(0, len(drawn), count)]


def sampler(problem: SearchProblem[Memory, State], settings: SearchSettings) -> Choose:
    """Samples tokens; the `n_best` rows of one sentence are its first draw, its second, and so on."""
    banned, device = problem.banned_ids, problem.device
    names = map(problem.name_of, range(len(problem)))
    # Random is seeded by the text itself, alike on every machine and in every version of Python.
    streams = [Random(f"{settings.seed} {place % settings.n_best} {name}") for place, name in enumerate(names)]

    def choose(said: LogProbs, sentences: Int[Tensor, " rows"]) -> Int[Tensor, " rows"]:
        probabilities, tokens = nucleus(said.index_fill(1, banned, -torch.inf), settings)
        chance = torch.tensor([streams[at].random() for at in sentences.tolist()], dtype=torch.float64, device=device)
        up_to = probabilities.cumsum(dim=1)
        whole = up_to[:, -1]
        point = torch.minimum(chance * whole, whole.nextafter(torch.zeros_like(whole)))  # a product may be rounded up
        return tokens.gather(1, torch.searchsorted(up_to, point[:, None], right=True))[:, 0]

    return choose


def nucleus(
    log_probs: LogProbs, settings: SearchSettings
) -> tuple[Float[Tensor, "rows kept"], Int[Tensor, "rows kept"]]:
    """What is drawn from: tokens and their probabilities at this temperature, those that are left out being 0.

    `top_k` first; of what it leaves, `top_p` the fewest tokens that reach that probability.
    """
    warm = log_probs.double() / settings.temperature
    if not settings.top_k and settings.top_p == 1:
        return warm.softmax(dim=1), torch.arange(warm.shape[1], device=warm.device).expand_as(warm)
    kept, tokens = top_stable(warm, settings.top_k or warm.shape[1])
    probabilities = kept.softmax(dim=1)
    before = probabilities.cumsum(dim=1) - probabilities
    probabilities = probabilities.where(before < settings.top_p, 0)
    return probabilities / probabilities.sum(dim=1, keepdim=True), tokens
