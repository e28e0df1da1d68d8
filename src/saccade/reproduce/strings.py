"""Random strings to be written backwards: no two positions of a string can be guessed from each other."""

import numpy as np
from numpy.typing import NDArray

from saccade.data.batch import Batch, collate
from saccade.text.tokenizer import EOS

NUM_LETTERS = 26
NUM_TOKENS = EOS + 1 + NUM_LETTERS
"""Specials and letters."""


def random_strings(random: np.random.Generator, count: int, shortest: int, longest: int) -> list[NDArray[np.int64]]:
    """Letters as ids, of lengths drawn evenly."""
    lengths = random.integers(shortest, longest + 1, size=count)
    return [random.integers(EOS + 1, NUM_TOKENS, size=length) for length in lengths]


def reversal_batch(random: np.random.Generator, count: int, shortest: int, longest: int) -> Batch:
    """New strings, each with itself written backwards."""
    strings = random_strings(random, count, shortest, longest)
    return collate(strings, [string[::-1] for string in strings])
