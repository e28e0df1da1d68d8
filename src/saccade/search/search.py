"""The search that the settings ask for, behind rules where there are any."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from saccade.errors import ModelError
from saccade.protocol import Decodes, Memory, State
from saccade.search.alternatives import likeliest_after
from saccade.search.beam import beam_search
from saccade.search.constraints import FREE, Constraints
from saccade.search.diverse import diverse_search
from saccade.search.greedy import greedy
from saccade.search.hypothesis import Hypothesis
from saccade.search.repeated import repeated
from saccade.search.required import towards
from saccade.search.rules import ruled
from saccade.search.sampling import sample
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
    constraints: Sequence[Constraints] | None = None,
    names: Sequence[str] | None = None,
) -> list[list[Hypothesis]]:
    """Return each sentence's hypotheses, best first.

    A hypothesis of sentence n has at most `limits[n]` tokens, its end included, and none of the banned ids; but its
    prefix, if `constraints[n]` has one, always has room. `limits` lie on the model's device. Sampling draws alike for
    sentences of the same name; without names, each is called by its number.
    """
    constraints = constraints or [FREE] * len(limits)
    check(settings, constraints, eos)
    limits = with_room(limits, constraints)
    kept = ruled(model, settings, constraints, banned, eos, limits.device)
    match settings.method:
        case "beam":
            return _beam(
                kept,
                memory,
                limits=limits,
                bos=bos,
                eos=eos,
                settings=settings,
                banned=banned,
                constraints=constraints,
            )
        case "diverse":
            return diverse_search(kept, memory, limits=limits, bos=bos, eos=eos, settings=settings, banned=banned)
        case "sampling":
            names = names or [str(number) for number in range(len(limits))]
            return sample(kept, memory, limits=limits, bos=bos, eos=eos, settings=settings, banned=banned, names=names)
        case "alternatives":
            prefixes = [each.prefix for each in constraints]
            tokens = likeliest_after(
                kept, memory, limits=limits, bos=bos, eos=eos, settings=settings, banned=banned, prefixes=prefixes
            )
            return _completed(
                model,
                memory,
                tokens,
                limits=limits,
                bos=bos,
                eos=eos,
                settings=settings,
                banned=banned,
                constraints=constraints,
            )


def check(settings: SearchSettings, constraints: Sequence[Constraints], eos: int) -> None:
    """Refuse constraints that this search cannot keep."""
    for each in constraints:
        assert all(eos not in phrase for phrase in (each.prefix, *each.banned, *each.required)), "a phrase has no end"
        if each.required and settings.method not in ("beam", "alternatives"):
            raise ModelError(
                'Required phrases go with method = "beam" or "alternatives" only, '
                f'not with "{settings.method}", which keeps no place for prefixes that have them. Use method = "beam".'
            )


def with_room(limits: Int[Tensor, " batch"], constraints: Sequence[Constraints]) -> Int[Tensor, " batch"]:
    """The limits, but never so low that a prefix would be cut off."""
    if not any(each.prefix for each in constraints):
        return limits
    return torch.maximum(limits, limits.new_tensor([len(each.prefix) + 1 for each in constraints]))


def _beam(
    model: Decodes[Memory, State],
    memory: Memory,
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    banned: Sequence[int],
    constraints: Sequence[Constraints],
) -> list[list[Hypothesis]]:
    """With a model that keeps all rules already."""
    if not any(each.required for each in constraints):
        find = greedy if settings.beam == 1 else beam_search
        return find(model, memory, limits=limits, bos=bos, eos=eos, settings=settings, banned=banned)
    return beam_search(
        model,
        memory,
        limits=limits,
        bos=bos,
        eos=eos,
        settings=settings,
        constraints=constraints,
        rank=towards(constraints, settings.beam),
    )


def _completed(
    model: Decodes[Memory, State],
    memory: Memory,
    next_tokens: Sequence[Sequence[int]],
    *,
    limits: Int[Tensor, " batch"],
    bos: int,
    eos: int,
    settings: SearchSettings,
    banned: Sequence[int],
    constraints: Sequence[Constraints],
) -> list[list[Hypothesis]]:
    """The best hypothesis with each of these tokens after the prefix."""
    sentences = [sentence for sentence, tokens in enumerate(next_tokens) for _ in tokens]
    longer = [
        replace(each, prefix=(*each.prefix, token))
        for each, tokens in zip(constraints, next_tokens, strict=True)
        for token in tokens
    ]
    model, limits = repeated(model, limits, sentences)
    found = iter(
        _beam(
            ruled(model, settings, longer, banned, eos, limits.device),
            memory,
            limits=limits,
            bos=bos,
            eos=eos,
            settings=replace(settings, n_best=1),
            banned=banned,
            constraints=longer,
        )
    )
    return [[next(found)[0] for _ in tokens] for tokens in next_tokens]
