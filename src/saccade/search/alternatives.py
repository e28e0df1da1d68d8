"""Alternatives at a position: the likeliest tokens after a given prefix, so that each can be completed."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.protocol import Decodes, Memory, State
from saccade.search.beam import top_stable
from saccade.search.constraints import Phrase
from saccade.search.settings import SearchSettings


@torch.inference_mode()
def likeliest_after(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    prefixes: Sequence[Phrase],
    banned: Sequence[int] = (),
) -> list[list[int]]:
    """The `n_best` likeliest tokens after the prefix of each sentence, which may be the end; best first."""
    never = torch.tensor(banned, dtype=torch.long, device=limits.device)
    found: dict[int, list[int]] = {}
    last = torch.full_like(limits, bos)
    state = model.start(memory)
    for number in range(max(map(len, prefixes), default=-1) + 1):
        log_probs, state = model.step(last, state)
        here = [sentence for sentence, prefix in enumerate(prefixes) if len(prefix) == number]
        if here:
            top, tokens = top_stable(log_probs[here].index_fill(1, never, -torch.inf), settings.n_best)
            for sentence, several, exist in zip(here, tokens.tolist(), top.isfinite().tolist(), strict=True):
                found[sentence] = [token for token, exists in zip(several, exist, strict=True) if exists]
        # Sentences that are past their prefix are not asked again; what they read is of no account.
        read = [prefix[number] if number < len(prefix) else eos for prefix in prefixes]
        last = torch.tensor(read, dtype=torch.long, device=limits.device)
    return [found[sentence] for sentence in range(len(prefixes))]
