"""The search that the settings ask for."""

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from saccade.protocol import Decodes, Memory, State
from saccade.search.beam import beam_search
from saccade.search.greedy import greedy
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings


def search(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    banned: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first.

    A hypothesis of sentence n has at most `limits[n]` tokens, its end included, and none of the banned ids.
    `limits` lie on the model's device.
    """
    find = greedy if settings.beam == 1 else beam_search
    return find(model, memory, limits=limits, bos=bos, eos=eos, settings=settings, banned=banned)
