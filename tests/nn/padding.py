"""The mask of padded sequences, which batches carry and tests of layers make for themselves."""

import torch
from torch import Tensor


def padding_mask(lengths: Tensor, positions: int) -> Tensor:
    """True where a sequence of that length has a token, False where it is padded."""
    return torch.arange(positions) < lengths[:, None]
