"""Random strings to be copied or written backwards: no two positions of a string can be guessed from each other."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from saccade.data.batch import Batch, collate
from saccade.engines.torch import TorchEngine
from saccade.reproduce.pairs_task import exact_match
from saccade.text.tokenizer import EOS

NUM_LETTERS = 26
NUM_TOKENS = EOS + 1 + NUM_LETTERS
"""Specials and letters."""
BATCH = 64


def random_strings(random: np.random.Generator, count: int, shortest: int, longest: int) -> list[NDArray[np.int64]]:
    """Letters as ids, of lengths drawn evenly."""
    lengths = random.integers(shortest, longest + 1, size=count)
    return [random.integers(EOS + 1, NUM_TOKENS, size=length) for length in lengths]


def string_batches(longest: int, seed: int, *, step: int) -> Iterator[Batch]:
    """Strings of 1 to `longest` letters, each with itself, or with step -1 written backwards; without end."""
    random = np.random.default_rng((seed, 0))
    while True:
        strings = random_strings(random, BATCH, 1, longest)
        yield collate(strings, [string[::step] for string in strings])


def share_right(engine: TorchEngine, length: int, seed: int, *, count: int, step: int) -> float:
    """The share of new strings of a length that are written without a mistake."""
    strings = random_strings(np.random.default_rng((seed, length, 1)), count, length, length)
    return exact_match(engine, [string.tolist() for string in strings], [string[::step].tolist() for string in strings])
