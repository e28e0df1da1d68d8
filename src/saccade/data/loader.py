"""Batches in the order of the sampler; where the model sits on a GPU, made ready by a thread while it is busy."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import torch

from saccade.data.batch import collate
from saccade.data.sampler import Indices, Position, Sampler
from saccade.data.store import Ragged, TokenStore
from saccade.text.tokenizer import Tokenizer, Tokenizers

T = TypeVar("T")


@runtime_checkable  # so that the shape checks of the tests can look at it
class Targets(Protocol):
    """A batch of any task."""

    @property
    def num_targets(self) -> int:
        """How many things are to be said: what a loss is a sum over."""

    def to(self, device: torch.device) -> Any:
        """The same on another device."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A batch on its way to the model."""

    position: Position  # where to resume after it
    rows: Indices  # the examples it holds, by their numbers in the task's data
    batch: Targets


@dataclass(frozen=True, slots=True)
class Resampling:
    """Subword regularisation: what a batch is cut into is a function of the seed and the batch's position."""

    tokenizers: Tokenizers
    rate: float  # see `TokenizerSettings.sampling`; 0 leaves everything as it is
    seed: int
    max_tokens: int  # a text that would get longer than this stays as it is

    def __call__(self, position: Position, source: Ragged, target: Ragged) -> tuple[Ragged, Ragged]:
        if not self.rate:
            return source, target
        seeds = np.random.SeedSequence((self.seed, position.epoch, position.batch)).generate_state(2)
        source = self._cut(self.tokenizers.source, source, int(seeds[0]))
        return source, self._cut(self.tokenizers.target, target, int(seeds[1]))

    def _cut(self, tokenizer: Tokenizer, texts: Ragged, seed: int) -> Ragged:
        stored = texts.lists()
        pairs = zip(stored, tokenizer.resample(stored, self.rate, seed), strict=True)
        return Ragged.of([sampled if len(sampled) <= self.max_tokens else old for old, sampled in pairs])


def load(store: TokenStore, sampler: Sampler, start: Position, resampled: Resampling) -> Iterator[Loaded]:
    """Without end, from a position on."""
    for position, rows in sampler.batches(start):
        yield Loaded(position, rows, collate(*resampled(position, *store.batch(rows))))


def ahead(items: Iterable[T], depth: int = 4) -> Iterator[T]:
    """The same items, up to `depth` of them made ahead by a thread, which ends when the caller stops asking."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1, "saccade loader") as pool:
        pending = deque(pool.submit(next, iterator, end) for _ in range(depth))
        try:
            while (item := pending.popleft().result()) is not end:
                pending.append(pool.submit(next, iterator, end))
                yield cast(T, item)
        finally:
            pool.shutdown(cancel_futures=True)
