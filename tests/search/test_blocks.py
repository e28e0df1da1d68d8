"""The quick way to the likeliest continuations against the slow one, which sorts them all."""

import pytest
import torch
from hypothesis import given
from hypothesis import settings as sometimes
from hypothesis import strategies as st

from saccade.search.beam import Beam, rank_likeliest
from saccade.search.blocks import BLOCK, WORTH, likeliest_token, top_by_blocks

LARGE = BLOCK * 40
COUNT = 10
BANNED = torch.tensor([0, 2])


def slowly(prefixes: torch.Tensor, log_probs: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    """All sums in order: the largest, then the lower row, then the lower token."""
    allowed = log_probs.index_fill(1, BANNED, -torch.inf)
    sums = (prefixes.flatten()[:, None] + allowed).view(len(prefixes), -1)
    top, index = sums.sort(dim=1, descending=True, stable=True)
    vocab, width = log_probs.shape[1], prefixes.shape[1]
    row = torch.arange(len(prefixes))[:, None] * width + index // vocab
    return top[:, :count], row[:, :count], (index % vocab)[:, :count]


@sometimes(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    batch=st.integers(1, 4),
    width=st.integers(1, 5),
    vocab=st.sampled_from([LARGE, LARGE + 1, LARGE + BLOCK - 1]),
    sharpness=st.sampled_from([0.1, 3.0]),
)
def test_it_finds_what_sorting_finds(seed: int, batch: int, width: int, vocab: int, sharpness: float):
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch * width, vocab, generator=random, dtype=torch.float64) * sharpness
    logits[:, BANNED] += 9.0  # the likeliest may not be written
    log_probs = logits.log_softmax(dim=1)
    prefixes = torch.randn(batch, width, generator=random, dtype=torch.float64) * 3
    found = top_by_blocks(prefixes, log_probs, COUNT, BANNED)
    assert found is not None
    for one, other in zip(found, slowly(prefixes, log_probs, COUNT), strict=True):
        assert torch.equal(one, other)


def test_a_row_without_a_prefix_has_no_say():
    log_probs = torch.randn(3, LARGE, generator=torch.Generator().manual_seed(1)).log_softmax(dim=1)
    prefixes = torch.tensor([[-1.0, -torch.inf, -2.0]])
    found = top_by_blocks(prefixes, log_probs, COUNT, BANNED)
    assert found is not None
    assert set(found.rows.flatten().tolist()) <= {0, 2}


@pytest.mark.parametrize("twin", [7, 700], ids=["within a block", "across blocks"])
def test_equals_are_left_to_the_slow_way(twin: int):
    log_probs = torch.randn(1, LARGE, generator=torch.Generator().manual_seed(1)).log_softmax(dim=1)
    log_probs[0, [5, twin]] = -0.5
    assert top_by_blocks(torch.zeros(1, 1), log_probs, COUNT, BANNED) is None
    beam = Beam(torch.tensor([0]), torch.tensor([9]), torch.tensor([[2]]), torch.zeros(1, 1))
    assert rank_likeliest(beam, log_probs, COUNT, BANNED).tokens[0, :2].tolist() == [5, twin]


def test_equals_at_the_cut_are_left_to_the_slow_way():
    log_probs = torch.full((1, LARGE), -20.0)
    assert top_by_blocks(torch.zeros(1, 1), log_probs, COUNT, BANNED) is None


def test_a_small_vocabulary_is_sorted_at_once():
    log_probs = torch.randn(1, BLOCK * (WORTH - 1), generator=torch.Generator().manual_seed(1))
    assert top_by_blocks(torch.zeros(1, 1), log_probs, COUNT, BANNED) is None


@sometimes(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    vocab=st.sampled_from([5, BLOCK, BLOCK + 1, 5 * BLOCK - 1]),
    likes_banned=st.booleans(),
    few_values=st.booleans(),
)
def test_the_likeliest_token_is_that_of_max(seed: int, vocab: int, likes_banned: bool, few_values: bool):
    log_probs = torch.randn(6, vocab, generator=torch.Generator().manual_seed(seed))
    if few_values:  # so that many are equal
        log_probs = log_probs.round()
    log_probs[:, BANNED] += 9.0 if likes_banned else -9.0
    expected = log_probs.index_fill(1, BANNED, -torch.inf).max(dim=1).indices
    assert torch.equal(likeliest_token(log_probs, BANNED), expected)
