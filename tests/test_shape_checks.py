"""The guard of the guards: in pytest, annotated shapes are checked, and each process has one thread."""

import jaxtyping
import pytest
import torch

from saccade.nn.hierarchical import LearnedQuery


def test_a_wrong_shape_is_caught() -> None:
    pool = LearnedQuery(d_states=4, d_hidden=4)
    assert pool(torch.zeros(2, 3, 4)).shape == (2, 4)
    with pytest.raises(jaxtyping.TypeCheckError):
        pool(torch.zeros(3, 4))


def test_a_process_has_one_thread() -> None:
    assert torch.get_num_threads() == 1
