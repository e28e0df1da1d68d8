"""Greedy search: take the likeliest token, again and again. The readable twin of a beam of one."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.protocol import Decodes, Memory, State
from saccade.search.blocks import likeliest_token
from saccade.search.history import End, History
from saccade.search.hypothesis import Hypothesis
from saccade.search.settings import SearchSettings


@torch.inference_mode()
def greedy(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    banned: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """Return the one hypothesis of each sentence; `limits` lie on the model's device."""
    assert eos not in banned, "every hypothesis would run to its limit"
    assert bool((limits > 0).all()), "a hypothesis has at least an end"
    never = torch.tensor(banned, dtype=torch.long, device=limits.device)
    ends: dict[int, End] = {}
    history = History()

    sentences = torch.arange(len(limits), device=limits.device)  # the one that each row belongs to
    last = torch.full_like(sentences, bos)
    log_probs = torch.zeros(len(limits), device=limits.device)
    state = model.start(memory)

    for number in range(max(limits.tolist(), default=0)):
        said, state = model.step(last, state)
        last = likeliest_token(said, never)
        log_probs = log_probs + said.gather(1, last[:, None])[:, 0]

        ended = (last == eos) | (limits[sentences] == number + 1)
        for row in ended.nonzero().flatten().tolist():
            ends[int(sentences[row])] = End(number, 0, row, int(last[row]), float(log_probs[row]))

        on = (~ended).nonzero().flatten()
        history.add(on.tolist(), last[on].tolist())
        if len(on) == 0:
            break
        if len(on) < len(ended):
            sentences, last, log_probs, state = sentences[on], last[on], log_probs[on], model.pick(state, on)

    return [history.best([ends[sentence]], eos, settings) for sentence in range(len(limits))]
