"""The guard of the guards: in pytest, annotated shapes are checked, and each process has one thread."""

import jaxtyping
import pytest
import torch

from saccade.nn.masks import padding_mask


def test_a_wrong_shape_is_caught() -> None:
    assert padding_mask(torch.tensor([1, 2]), 3).shape == (2, 3)
    with pytest.raises(jaxtyping.TypeCheckError):
        padding_mask(torch.tensor([[1, 2]]), 3)


def test_a_process_has_one_thread() -> None:
    assert torch.get_num_threads() == 1
