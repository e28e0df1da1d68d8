"""Sampling: every token is drawn by chance, as likely as the model says.

Each draw of a sentence has its own stream of chance, so what is drawn depends on the seed and the sentence alone, and
not on its company.
"""

from collections.abc import Sequence
from random import Random

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.protocol import Decodes, Memory, State
from saccade.search.beam import top_stable
from saccade.search.greedy import Choose, last_of, write
from saccade.search.hypothesis import Hypothesis
from saccade.search.repeated import each, repeated, together
from saccade.search.settings import SearchSettings


def sample(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    names: Sequence[str],
    banned: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each sentence in the order of drawing; two may be the same.

    A name is what makes a sentence's draws its own: sentences of one name draw alike.
    """
    assert eos not in banned, "every hypothesis would run to its limit"
    model, limits = repeated(model, limits, each(range(len(limits)), settings.n_best))
    choose = by_chance(settings, each(names, settings.n_best), banned, limits.device)
    found = last_of(write(model, memory, limits=limits, bos=bos, eos=eos, settings=settings, choose=choose))
    return [list(drawn) for drawn in together(found, settings.n_best)]


def by_chance(settings: SearchSettings, names: Sequence[str], banned: Sequence[int], device: torch.device) -> Choose:
    """Draws for rows of these names; those of one name are its first draw, its second, and so on."""
    never = torch.tensor(banned, dtype=torch.long, device=device)
    # Random is seeded by the text itself, alike on every machine and in every version of Python.
    streams = [Random(f"{settings.seed} {place % settings.n_best} {name}") for place, name in enumerate(names)]

    def choose(said: Float[Tensor, "rows vocab"], sentences: Int[Tensor, " rows"]) -> Int[Tensor, " rows"]:
        probabilities, tokens = nucleus(said.index_fill(1, never, -torch.inf), settings)
        chance = torch.tensor([streams[at].random() for at in sentences.tolist()], dtype=torch.float64, device=device)
        up_to = probabilities.cumsum(dim=1)
        whole = up_to[:, -1]
        point = torch.minimum(chance * whole, whole.nextafter(torch.zeros_like(whole)))  # a product may be rounded up
        return tokens.gather(1, torch.searchsorted(up_to, point[:, None], right=True))[:, 0]

    return choose


def nucleus(
    log_probs: Float[Tensor, "rows vocab"], settings: SearchSettings
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
